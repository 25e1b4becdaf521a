#include "models/quantization/integer_inference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace straggler {
namespace {

using Kind = InferenceStep::Kind;

double largest_scale(const QuantizedProduct& product) {
  double scale = 0;
  for (const Grid& grid : product.grids) scale = std::max(scale, static_cast<double>(grid.scale));
  return scale;
}

/// The largest sum of products with inputs of this grid, bias included. Throws where it leaves 32 bits.
std::int64_t largest_sum(const InferenceStep& step, const QuantizedProduct& product, const Grid& input) {
  std::int64_t largest = 0;
  const std::int64_t reach = std::max(input.high - input.zero, input.zero - input.low);
  for (std::size_t c = 0; c < step.out.channels; ++c) {
    std::int64_t sum = std::abs(static_cast<std::int64_t>(product.biases[c]));
    const std::int32_t zero = product.grid(c).zero;
    for (std::size_t k = 0; k < step.patch(); ++k) sum += std::abs(product.weights[c * step.patch() + k] - zero) * reach;
    if (sum > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("the sums of its layer '" + step.name + "' may need more than 32 bits; use fewer bits");
    largest = std::max(largest, sum);
  }
  return largest;
}

/// Fraction bits that scores may have: channels of finer scales keep some of theirs.
int score_bits(std::int64_t largest) {
  constexpr int most = 16;
  int bits = 0;
  while (bits < most && largest < std::int64_t{1} << (29 - bits)) ++bits;
  return bits;
}

void max_pool(const InferenceStep& step, std::size_t samples, const std::uint8_t* x, std::uint8_t* y) {
  const std::size_t in_places = step.in.height * step.in.width, out_places = step.out.height * step.out.width;
  for (std::size_t plane = 0; plane < samples * step.in.channels; ++plane, x += in_places, y += out_places)
    for_pool_windows(step.in, step.out, step.window,
                     [&](std::size_t output, std::size_t top, std::size_t bottom, std::size_t left, std::size_t right) {
                       std::uint8_t most = 0;
                       for (std::size_t i = top; i < bottom; ++i)
                         for (std::size_t j = left; j < right; ++j) most = std::max(most, x[i * step.in.width + j]);
                       y[output] = most;
                     });
}

}  // namespace

IntegerInference::IntegerInference(const InferenceNetwork& network, const Kernels& kernels, const std::vector<QuantizedProduct>& products,
                                   std::vector<std::optional<Grid>> grids)
    : network_(network), kernels_(kernels), grids_(std::move(grids)) {
  for (std::size_t i = 0; i < network.steps.size(); ++i) {
    const InferenceStep& step = network.steps[i];
    Made made;
    if (step.kind == Kind::product) made = make_product(step, products[i]);
    if (step.kind == Kind::average_pool) {
      const double size = static_cast<double>(step.window.places());
      made.multipliers = {
          multiplier_of(static_cast<double>(grids_[step.inputs[0]]->scale) / (size * static_cast<double>(grids_[i + 1]->scale)))};
    }
    if (step.kind == Kind::add) make_sum(step, i + 1, made);
    if (!made.makes_scores) {
      const Grid& grid = *grids_[i + 1];
      made.zero = grid.zero;
      made.least = step.rectified || step.kind == Kind::relu ? std::max(grid.low, grid.zero) : grid.low;
      made.most = grid.high;
    }
    made_.push_back(std::move(made));
  }
}

IntegerInference::Made IntegerInference::make_product(const InferenceStep& step, const QuantizedProduct& product) {
  const Grid& input = *grids_[step.inputs[0]];
  const std::int64_t largest = largest_sum(step, product, input);
  Made made;
  made.patches.emplace(step);
  made.makes_scores = &step == network_.scores();
  const std::size_t patch = step.patch(), padded = (patch + 1) / 2 * 2;
  made.weights.resize(step.out.channels * padded);
  for (std::size_t c = 0; c < step.out.channels; ++c)
    for (std::size_t k = 0; k < patch; ++k)
      made.weights[c * padded + k] = static_cast<std::int16_t>(product.weights[c * patch + k] - product.grid(c).zero);
  made.biases = product.biases;
  const auto index = static_cast<std::size_t>(&step - network_.steps.data());
  const double out_scale = made.makes_scores ? std::ldexp(largest_scale(product) * static_cast<double>(input.scale), -score_bits(largest))
                                             : static_cast<double>(grids_[index + 1]->scale);
  if (made.makes_scores) score_scale_ = out_scale;
  for (std::size_t c = 0; c < step.out.channels; ++c)
    made.multipliers.push_back(multiplier_of(static_cast<double>(product.grid(c).scale) * static_cast<double>(input.scale) / out_scale));
  return made;
}

void IntegerInference::make_sum(const InferenceStep& step, ValueIndex value, Made& made) const {
  std::vector<double> real;
  for (const ValueIndex input : step.inputs)
    real.push_back(static_cast<double>(grids_[input]->scale) / static_cast<double>(grids_[value]->scale));
  made.shift = multiplier_of(*std::max_element(real.begin(), real.end())).shift;
  for (const double each : real) made.factors.push_back(static_cast<std::int64_t>(std::nearbyint(std::ldexp(each, made.shift))));
}

void IntegerInference::run(const float* inputs, std::size_t samples, IntegerValues& values) const {
  values.of.resize(network_.values());
  const Grid& grid = *grids_[0];
  const float inverse = 1 / grid.scale, least = static_cast<float>(grid.low - grid.zero), most = static_cast<float>(grid.high - grid.zero);
  values.of[0].resize(samples * network_.input.size());
  for (std::size_t i = 0; i < values.of[0].size(); ++i)
    values.of[0][i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(steps_from_zero(inputs[i], inverse, least, most)) + grid.zero);
  for (std::size_t i = 0; i < network_.steps.size(); ++i) step(i, samples, values);
}

void IntegerInference::step(std::size_t index, std::size_t samples, IntegerValues& values) const {
  const InferenceStep& step = network_.steps[index];
  const Made& made = made_[index];
  const ValueIndex value = index + 1;
  if (!made.makes_scores) values.of[value].resize(samples * step.out.size());
  switch (step.kind) {
    case Kind::product:
      return product(step, made, samples, values, value);
    case Kind::relu: {
      const std::vector<std::uint8_t>& in = values.of[step.inputs[0]];
      const auto least = static_cast<std::uint8_t>(made.least);
      for (std::size_t i = 0; i < in.size(); ++i) values.of[value][i] = std::max(in[i], least);
      return;
    }
    case Kind::max_pool:
      return max_pool(step, samples, values.of[step.inputs[0]].data(), values.of[value].data());
    case Kind::average_pool:
      return average_pool(step, made, samples, values, value);
    case Kind::add:
      return sum(step, made, values, value);
  }
}

void IntegerInference::product(const InferenceStep& step, const Made& made, std::size_t samples, IntegerValues& values,
                               ValueIndex value) const {
  const Patches& patches = *made.patches;
  const std::size_t outputs = step.out.channels / step.groups, pairs = (patches.size() + 1) / 2, total = samples * patches.places();
  const std::int32_t input_zero = grids_[step.inputs[0]]->zero;
  values.padded.resize(samples * patches.padded_size());
  patches.pad(samples, values.of[step.inputs[0]].data(), values.padded.data(),
              [input_zero](std::uint8_t q) { return static_cast<std::int16_t>(q - input_zero); });
  values.patches.resize(pairs * 2 * panel_rows);
  values.sums.resize(outputs * panel_rows);
  if (made.makes_scores) values.scores.resize(samples * step.out.size());
  for (std::size_t first = 0; first < total; first += panel_rows) {
    const Patches::Panel panel = patches.panel(first, total);
    for (std::size_t group = 0; group < step.groups; ++group) {
      patches.gather_pairs(panel, group, values.padded.data(), values.patches.data());
      kernels_.integer_products(panel.count, pairs, outputs, values.patches.data(), made.weights.data() + group * outputs * pairs * 2,
                                values.sums.data());
      for (std::size_t o = 0; o < outputs; ++o) {
        const std::size_t channel = group * outputs + o, plane = channel * patches.places();
        const std::int32_t bias = made.biases[channel];
        const Multiplier by = made.multipliers[channel];
        const std::int32_t* const sums = values.sums.data() + o * panel_rows;
        if (made.makes_scores) {
          for (std::size_t lane = 0; lane < panel.count; ++lane)
            values.scores[plane + panel.to[lane]] = static_cast<std::int32_t>(requantize(sums[lane] + bias, by));
          continue;
        }
        std::uint8_t* const out = values.of[value].data() + plane;
        for (std::size_t lane = 0; lane < panel.count; ++lane) {
          const std::int64_t q = requantize(sums[lane] + bias, by) + made.zero;
          out[panel.to[lane]] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(q, made.least, made.most));
        }
      }
    }
  }
}

void IntegerInference::sum(const InferenceStep& step, const Made& made, IntegerValues& values, ValueIndex value) const {
  std::vector<std::uint8_t>& out = values.of[value];
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::int64_t sum = 0;
    for (std::size_t each = 0; each < step.inputs.size(); ++each)
      sum += made.factors[each] * (values.of[step.inputs[each]][i] - grids_[step.inputs[each]]->zero);
    out[i] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(rounded_shift(sum, made.shift) + made.zero, made.least, made.most));
  }
}

void IntegerInference::average_pool(const InferenceStep& step, const Made& made, std::size_t samples, IntegerValues& values,
                                    ValueIndex value) const {
  const std::size_t in_places = step.in.height * step.in.width, out_places = step.out.height * step.out.width;
  const std::uint8_t* x = values.of[step.inputs[0]].data();
  std::uint8_t* y = values.of[value].data();
  const std::int32_t zero = grids_[step.inputs[0]]->zero;
  for (std::size_t plane = 0; plane < samples * step.in.channels; ++plane, x += in_places, y += out_places)
    for_pool_windows(step.in, step.out, step.window,
                     [&](std::size_t output, std::size_t top, std::size_t bottom, std::size_t left, std::size_t right) {
                       std::int32_t sum = 0;
                       for (std::size_t i = top; i < bottom; ++i)
                         for (std::size_t j = left; j < right; ++j) sum += x[i * step.in.width + j] - zero;
                       const std::int64_t q = requantize(sum, made.multipliers[0]) + made.zero;
                       y[output] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(q, made.least, made.most));
                     });
}

void IntegerInference::output(const IntegerValues& values, std::size_t samples, std::vector<float>& real) const {
  real.resize(samples * network_.shape(network_.output).size());
  if (network_.scores()) {
    for (std::size_t i = 0; i < real.size(); ++i) real[i] = static_cast<float>(score_scale_ * values.scores[i]);
    return;
  }
  const Grid& grid = *grids_[network_.output];
  for (std::size_t i = 0; i < real.size(); ++i) real[i] = grid.dequantize(values.of[network_.output][i]);
}

}  // namespace straggler
