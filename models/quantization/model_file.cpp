#include "models/quantization/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace straggler {
namespace {

using Kind = InferenceStep::Kind;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& sentence) {
  throw DataError(fmt::format("{}: {}; give the model that the scenario trains", path.string(), sentence));
}

std::string text(const std::vector<std::size_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

void take(const std::filesystem::path& path, const std::map<std::string, const TypedTensor*>& named, const TensorInfo& wanted,
          std::vector<float>& weights) {
  const auto at = named.find(wanted.name);
  if (at == named.end()) fail(path, fmt::format("it has no tensor '{}' of shape {}", wanted.name, text(wanted.shape)));
  const TypedTensor& tensor = *at->second;
  if (tensor.shape != wanted.shape)
    fail(path,
         fmt::format("its tensor '{}' has shape {}, the scenario's model has {}", wanted.name, text(tensor.shape), text(wanted.shape)));
  if (tensor.type != NumberType::f32 && tensor.type != NumberType::f16 && tensor.type != NumberType::bf16)
    throw DataError(fmt::format("{}: its tensor '{}' is of type {}; a trained model has F32, F16 or BF16", path.string(), wanted.name,
                                name_of(tensor.type)));
  const std::vector<float> values = tensor.floats();
  if (!std::all_of(values.begin(), values.end(), [](float x) { return std::abs(x) < 1e30f; }))
    throw DataError(fmt::format("{}: its tensor '{}' holds numbers that are not finite, or huge; give a model that has not diverged",
                                path.string(), wanted.name));
  std::copy(values.begin(), values.end(), weights.begin() + static_cast<std::ptrdiff_t>(wanted.offset));
}

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

/// Wide numbers before bytes, so that all lie at multiples of their size.
void order(std::vector<TypedTensor>& tensors) {
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const TypedTensor& a, const TypedTensor& b) { return size_of(a.type) > size_of(b.type); });
}

}  // namespace

const char* name_of(GridScheme scheme) { return scheme == GridScheme::affine ? "affine" : "symmetric"; }

const char* name_of(RangeRule rule) {
  return rule == RangeRule::min_max ? "min_max" : rule == RangeRule::percentile ? "percentile" : "mse";
}

std::vector<float> read_trained_weights(const std::filesystem::path& path, const Model& model) {
  const TypedFile file = read_typed_safetensors(path);
  std::map<std::string, const TypedTensor*> named;
  for (const TypedTensor& tensor : file.tensors) named.emplace(tensor.name, &tensor);
  std::vector<TensorInfo> wanted = model.tensors();
  const std::vector<TensorInfo> buffers = model.buffers();
  wanted.insert(wanted.end(), buffers.begin(), buffers.end());
  std::vector<float> weights(model.length());
  std::set<std::string> known;
  for (const TensorInfo& tensor : wanted) {
    take(path, named, tensor, weights);
    known.insert(tensor.name);
  }
  for (const TypedTensor& tensor : file.tensors)
    if (!known.count(tensor.name) && !is_counter(tensor))
      fail(path, fmt::format("it has a tensor '{}' of shape {}, which the scenario's model has not", tensor.name, text(tensor.shape)));
  return weights;
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
