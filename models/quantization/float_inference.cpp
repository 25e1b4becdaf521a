#include "models/quantization/float_inference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace straggler {
namespace {

using Kind = InferenceStep::Kind;

void rectify(std::vector<float>& x) {
  for (float& value : x) value = value < 0 ? 0.0f : value;
}

void max_pool(const InferenceStep& step, std::size_t samples, const float* x, float* y) {
  const std::size_t in_places = step.in.height * step.in.width, out_places = step.out.height * step.out.width;
  for (std::size_t plane = 0; plane < samples * step.in.channels; ++plane, x += in_places, y += out_places)
    for_pool_windows(step.in, step.out, step.window,
                     [&](std::size_t output, std::size_t top, std::size_t bottom, std::size_t left, std::size_t right) {
                       float most = -std::numeric_limits<float>::infinity();
                       for (std::size_t i = top; i < bottom; ++i)
                         for (std::size_t j = left; j < right; ++j) most = std::max(most, x[i * step.in.width + j]);
                       y[output] = most;
                     });
}

/// Padding counts as zeros, as in PyTorch.
void average_pool(const InferenceStep& step, std::size_t samples, const float* x, float* y) {
  const std::size_t in_places = step.in.height * step.in.width, out_places = step.out.height * step.out.width;
  const auto size = static_cast<float>(step.window.places());
  for (std::size_t plane = 0; plane < samples * step.in.channels; ++plane, x += in_places, y += out_places)
    for_pool_windows(step.in, step.out, step.window,
                     [&](std::size_t output, std::size_t top, std::size_t bottom, std::size_t left, std::size_t right) {
                       float sum = 0;
                       for (std::size_t i = top; i < bottom; ++i)
                         for (std::size_t j = left; j < right; ++j) sum += x[i * step.in.width + j];
                       y[output] = sum / size;
                     });
}

}  // namespace

FloatInference::FloatInference(const InferenceNetwork& network, const Kernels& kernels, std::vector<std::optional<Grid>> grids)
    : network_(network), kernels_(kernels), grids_(std::move(grids)) {
  grids_.resize(network.values());
  for (const InferenceStep& step : network.steps) {
    patches_.emplace_back();
    if (step.kind == Kind::product) patches_.back().emplace(step);
  }
}

void FloatInference::run(const float* inputs, std::size_t samples, FloatValues& values) const {
  values.of.resize(network_.values());
  values.of[0].assign(inputs, inputs + samples * network_.input.size());
  for (std::size_t i = 0;; ++i) {
    if (grids_[i]) round_to_grid(*grids_[i], values.of[i]);
    if (i == network_.steps.size()) return;
    step(i, samples, values);
  }
}

void FloatInference::step(std::size_t index, std::size_t samples, FloatValues& values) const {
  const InferenceStep& step = network_.steps[index];
  const std::vector<float>& in = values.of[step.inputs[0]];
  std::vector<float>& out = values.of[index + 1];
  out.resize(samples * step.out.size());
  switch (step.kind) {
    case Kind::product:
      product(step, *patches_[index], samples, values, out.data());
      break;
    case Kind::relu:
      out = in;
      break;
    case Kind::max_pool:
      max_pool(step, samples, in.data(), out.data());
      break;
    case Kind::average_pool:
      average_pool(step, samples, in.data(), out.data());
      break;
    case Kind::add:
      out = in;
      for (std::size_t each = 1; each < step.inputs.size(); ++each) {
        const std::vector<float>& other = values.of[step.inputs[each]];
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += other[i];
      }
      break;
  }
  if (step.rectified || step.kind == Kind::relu) rectify(out);
}

void FloatInference::product(const InferenceStep& step, const Patches& patches, std::size_t samples, FloatValues& values,
                             float* out) const {
  const std::vector<float>& in = values.of[step.inputs[0]];
  const std::size_t outputs = step.out.channels / step.groups, total = samples * patches.places();
  values.padded.resize(samples * patches.padded_size());
  patches.pad(samples, in.data(), values.padded.data(), [](float x) { return x; });
  values.patches.resize(patches.size() * panel_rows);
  values.sums.resize(outputs * panel_rows);
  for (std::size_t first = 0; first < total; first += panel_rows) {
    const Patches::Panel panel = patches.panel(first, total);
    for (std::size_t group = 0; group < step.groups; ++group) {
      patches.gather(panel, group, values.padded.data(), values.patches.data());
      kernels_.dense_forward(panel.count, patches.size(), outputs, values.patches.data(),
                             step.weight.data() + group * outputs * patches.size(), step.bias.data() + group * outputs, false,
                             values.sums.data());
      for (std::size_t o = 0; o < outputs; ++o) {
        float* const plane = out + (group * outputs + o) * patches.places();
        for (std::size_t lane = 0; lane < panel.count; ++lane) plane[panel.to[lane]] = values.sums[o * panel_rows + lane];
      }
    }
  }
}

Score score(const float* scores, std::size_t samples, std::size_t classes, const std::int32_t* labels, std::int32_t* predicted) {
  Score total;
  for (std::size_t row = 0; row < samples; ++row, scores += classes) {
    const std::size_t top = static_cast<std::size_t>(std::max_element(scores, scores + classes) - scores);
    const auto label = static_cast<std::size_t>(labels[row]);
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(scores[c]) - static_cast<double>(scores[top]));
    total.loss += std::log(sum) - (static_cast<double>(scores[label]) - static_cast<double>(scores[top]));
    total.correct += top == label;
    if (predicted) predicted[row] = static_cast<std::int32_t>(top);
  }
  return total;
}

std::size_t block_samples(const InferenceNetwork& network) {
  constexpr std::size_t budget = 1 << 23, most = 64;  // floats; samples
  std::size_t floats = 0;
  for (ValueIndex value = 0; value < network.values(); ++value) floats += network.shape(value).size();
  return std::clamp<std::size_t>(budget / floats, 1, most);
}

}  // namespace straggler
