#include "models/layers/layer.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace straggler {

std::string shape_text(const Shape& shape) {
  return std::to_string(shape.channels) + " x " + std::to_string(shape.height) + " x " + std::to_string(shape.width);
}

bool LayerSpec::is(std::string_view kind) const { return entry->name == kind; }

LayerSpec make_layer(const LayerEntry& entry, Parameters given, std::span<const Shape> inputs, const std::string& prefix) {
  const auto& [least, most] = entry.inputs;
  if (inputs.size() < least || inputs.size() > most)
    throw std::invalid_argument("needs " + std::string(least == most ? "" : "at least ") + std::to_string(least) +
                                (least == 1 ? " input" : " inputs") + " and has " + std::to_string(inputs.size()));
  LayerSpec layer;
  layer.entry = &entry;
  layer.parameters = complete(entry.parameters, std::move(given));
  layer.in = inputs.front();
  if (entry.window) layer.window = entry.window(layer);
  layer.out = entry.shape ? entry.shape(layer, inputs) : layer.in;
  if (layer.out.size() == 0) throw std::invalid_argument("its output is empty (" + shape_text(layer.out) + "); every width is at least 1");
  if (entry.tensors) layer.tensors = entry.tensors(layer);
  if (entry.buffers) layer.buffers = entry.buffers(layer);
  for (std::vector<TensorSpec>* const named : {&layer.tensors, &layer.buffers})
    for (TensorSpec& tensor : *named) tensor.name = prefix + "." + tensor.name;
  return layer;
}

std::vector<TensorSpec> weight_and_bias(std::vector<std::size_t> weight, bool bias) {
  std::size_t fan_in = 1;
  for (std::size_t i = 1; i < weight.size(); ++i) fan_in *= weight[i];
  const InitialValues initial{InitialValues::Rule::uniform, 1 / std::sqrt(static_cast<double>(fan_in))};
  const std::size_t outputs = weight.front();
  std::vector<TensorSpec> tensors{{"weight", std::move(weight), initial, {outputs}}};
  if (bias) tensors.push_back({"bias", {outputs}, initial});
  return tensors;
}

std::vector<TensorSpec> gain_and_bias(std::size_t channels) {
  return {{"weight", {channels}, {InitialValues::Rule::constant, 1}}, {"bias", {channels}, {InitialValues::Rule::constant, 0}}};
}

}  // namespace straggler
