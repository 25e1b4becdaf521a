#include "models/quantization/quantized_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace straggler {
namespace {

using Kind = InferenceStep::Kind;

constexpr double most_bias_steps = 0x1p30;

/// The smallest scale of weights at which no bias exceeds that number of steps.
double least_scale(std::span<const float> biases, double input_scale) {
  double largest = 0;
  for (const float bias : biases) largest = std::max(largest, std::abs(static_cast<double>(bias)));
  return largest / (most_bias_steps * input_scale);
}

ChosenGrid weight_grid(std::vector<float> weights, std::span<const float> biases, double input_scale, const QuantizationChoice& choice) {
  std::sort(weights.begin(), weights.end());
  ChosenGrid chosen;
  chosen.seen = {weights.front(), weights.back()};
  const RangeChoice range{choice.ranges, choice.percentile, choice.scheme, GridRole::weights, choice.weight_bits};
  const Interval covered = choose_range(range, chosen.seen, weights);
  chosen.grid = grid_over(covered, choice.weight_bits, choice.scheme, GridRole::weights);
  const double least = least_scale(biases, input_scale);
  // Upwards, so that the bias keeps its bound despite the rounding to float.
  const float coarse = std::nextafter(static_cast<float>(least), std::numeric_limits<float>::infinity());
  const bool all_zero = chosen.seen.low == 0 && chosen.seen.high == 0;
  if (least > 0 && (all_zero || coarse > chosen.grid.scale)) chosen.grid.scale = coarse;
  return chosen;
}

void quantize_product(const InferenceStep& step, double input_scale, const QuantizationChoice& choice, QuantizedProduct& product,
                      std::vector<ChosenGrid>& grids) {
  const std::size_t patch = step.patch(), channels = step.out.channels;
  if (!choice.per_channel) grids.push_back(weight_grid(step.weight, step.bias, input_scale, choice));
  for (std::size_t c = 0; choice.per_channel && c < channels; ++c) {
    const auto first = step.weight.begin() + static_cast<std::ptrdiff_t>(c * patch);
    grids.push_back(weight_grid({first, first + static_cast<std::ptrdiff_t>(patch)}, {&step.bias[c], 1}, input_scale, choice));
  }
  for (const ChosenGrid& each : grids) product.grids.push_back(each.grid);
  for (std::size_t c = 0; c < channels; ++c) {
    const Grid& grid = product.grid(c);
    for (std::size_t k = 0; k < patch; ++k) product.weights.push_back(static_cast<std::int8_t>(grid.quantize(step.weight[c * patch + k])));
    const double scale = static_cast<double>(grid.scale) * input_scale;
    product.biases.push_back(static_cast<std::int32_t>(std::nearbyint(static_cast<double>(step.bias[c]) / scale)));
  }
}

}  // namespace

QuantizedNetwork quantize(const InferenceNetwork& network, const std::vector<Histogram>& seen, const QuantizationChoice& choice) {
  QuantizedNetwork made;
  made.products.resize(network.steps.size());
  made.weight_grids.resize(network.steps.size());
  const RangeChoice range{choice.ranges, choice.percentile, choice.scheme, GridRole::activations, choice.activation_bits};
  const InferenceStep* const scores = network.scores();
  for (ValueIndex value = 0; value < network.values(); ++value) {
    const InferenceStep* const step = value == 0 ? nullptr : &network.steps[value - 1];
    const bool keeps = step && (step->kind == Kind::relu || step->kind == Kind::max_pool);
    made.own_grid.push_back(!keeps && (!step || step != scores));
    made.grids.emplace_back();
    if (keeps) made.grids.back() = made.grids[step->inputs[0]];
    if (!made.own_grid.back()) continue;
    const Interval covered = choose_range(range, seen[value].range, seen[value].representatives(), seen[value].counts);
    made.grids.back() = grid_over(covered, choice.activation_bits, choice.scheme, GridRole::activations);
  }
  for (std::size_t i = 0; i < network.steps.size(); ++i) {
    const InferenceStep& step = network.steps[i];
    if (step.kind != Kind::product) continue;
    quantize_product(step, static_cast<double>(made.grids[step.inputs[0]]->scale), choice, made.products[i], made.weight_grids[i]);
  }
  return made;
}

InferenceNetwork on_grids(const InferenceNetwork& network, const QuantizedNetwork& quantized, bool weights, bool biases) {
  InferenceNetwork simulated = network;
  for (std::size_t i = 0; i < network.steps.size(); ++i) {
    InferenceStep& step = simulated.steps[i];
    if (step.kind != Kind::product) continue;
    const QuantizedProduct& product = quantized.products[i];
    const double input_scale = static_cast<double>(quantized.grids[step.inputs[0]]->scale);
    for (std::size_t c = 0; c < step.out.channels; ++c) {
      const Grid& grid = product.grid(c);
      for (std::size_t k = c * step.patch(); weights && k < (c + 1) * step.patch(); ++k)
        step.weight[k] = grid.dequantize(product.weights[k]);
      if (biases) step.bias[c] = static_cast<float>(static_cast<double>(grid.scale) * input_scale * product.biases[c]);
    }
  }
  return simulated;
}

std::uint64_t model_bytes(const InferenceNetwork& network, const QuantizedNetwork& quantized, const QuantizationChoice& choice,
                          bool weights, bool activations) {
  const std::uint64_t grid_bytes = choice.scheme == GridScheme::affine ? 5 : 4;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < network.steps.size(); ++i) {
    const InferenceStep& step = network.steps[i];
    const std::uint64_t packed = (step.weight.size() * static_cast<std::uint64_t>(choice.weight_bits) + 7) / 8;
    bytes += weights ? packed + grid_bytes * quantized.products[i].grids.size() : 4 * step.weight.size();
    bytes += 4 * step.bias.size();
  }
  if (activations) bytes += 5 * static_cast<std::uint64_t>(std::count(quantized.own_grid.begin(), quantized.own_grid.end(), true));
  return bytes;
}

}  // namespace straggler
