#include "models/quantization/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace straggler {
namespace {

using Kind = InferenceStep::Kind;

void add_grid(TypedFile& file, const std::string& name, const std::vector<Grid>& grids) {
  std::vector<float> scales;
  std::vector<std::int32_t> zeros;
  for (const Grid& grid : grids) {
    scales.push_back(grid.scale);
    zeros.push_back(grid.zero);
  }
  file.tensors.push_back(tensor_of(name + ".scale", {grids.size()}, std::span<const float>(scales)));
  file.tensors.push_back(tensor_of(name + ".zero_point", {grids.size()}, std::span<const std::int32_t>(zeros)));
}

std::vector<std::size_t> weight_shape(const InferenceStep& step) {
  const std::size_t inputs = step.in.channels / step.groups;
  if (step.linear) return {step.out.channels, inputs};
  return {step.out.channels, inputs, step.window.height, step.window.width};
}

/// Wide numbers before bytes, so that all are aligned to their size.
void order(std::vector<TypedTensor>& tensors) {
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const TypedTensor& a, const TypedTensor& b) { return size_of(a.type) > size_of(b.type); });
}

}  // namespace

const char* name_of(GridScheme scheme) { return scheme == GridScheme::affine ? "affine" : "symmetric"; }

const char* name_of(RangeRule rule) {
  return rule == RangeRule::min_max ? "min_max" : rule == RangeRule::percentile ? "percentile" : "mse";
}

TypedFile quantized_file(const InferenceNetwork& network, const QuantizedNetwork& quantized, const QuantizationChoice& choice,
                         const QuantizedParts& parts) {
  TypedFile file;
  file.metadata = {{"format", "straggler-quantized"},  {"real", "scale * (q - zero_point); a bias: weight.scale * its input's scale * q"},
                   {"scheme", name_of(choice.scheme)}, {"granularity", choice.per_channel ? "channel" : "tensor"},
                   {"ranges", name_of(choice.ranges)}, {"rounding", "to nearest, ties to even"}};
  if (parts.weights) file.metadata["weight_bits"] = std::to_string(choice.weight_bits);
  if (parts.activations) file.metadata["activation_bits"] = std::to_string(choice.activation_bits);
  std::set<std::string> names;
  for (ValueIndex value = 0; value < network.values(); ++value) {
    const InferenceStep* const step = value == 0 ? nullptr : &network.steps[value - 1];
    if (step && step->kind == Kind::product) {
      const QuantizedProduct& product = quantized.products[value - 1];
      const std::string weight = step->tensors + ".weight", bias = step->tensors + ".bias";
      if (parts.weights) {
        file.tensors.push_back(tensor_of(weight, weight_shape(*step), std::span<const std::int8_t>(product.weights)));
        add_grid(file, weight, product.grids);
      } else {
        file.tensors.push_back(tensor_of(weight, weight_shape(*step), std::span<const float>(step->weight)));
      }
      file.tensors.push_back(parts.biases ? tensor_of(bias, {step->out.channels}, std::span<const std::int32_t>(product.biases))
                                          : tensor_of(bias, {step->out.channels}, std::span<const float>(step->bias)));
    }
    if (!parts.activations || !quantized.own_grid[value]) continue;
    const std::string base = !step ? "input" : (step->tensors.empty() ? step->name : step->tensors) + ".output";
    std::string name = base;  // sums may share a name
    for (int copy = 2; !names.insert(name).second; ++copy) name = fmt::format("{}.{}", base, copy);
    add_grid(file, name, {*quantized.grids[value]});
  }
  order(file.tensors);
  return file;
}

}  // namespace straggler
