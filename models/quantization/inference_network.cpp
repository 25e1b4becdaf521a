#include "models/quantization/inference_network.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "models/layers/norm.hpp"
#include "models/zoo/network.hpp"

namespace straggler {
namespace {

using Kind = InferenceStep::Kind;

std::string prefix_of(const LayerSpec& layer) {
  const std::string& weight = layer.tensors.at(0).name;
  return weight.substr(0, weight.rfind('.'));
}

class Translation {
 public:
  Translation(const Architecture& architecture, const float* weights)
      : architecture_(architecture), weights_(weights), layout_(architecture), readers_(architecture.layers.size(), 0) {
    for (const LayerSpec& layer : architecture.layers)
      for (const LayerIndex input : layer.inputs)
        if (input != network_input) ++readers_[input];
    if (!readers_.empty()) ++readers_.back();  // the network's output
  }

  InferenceNetwork translate() && {
    if (architecture_.layers.empty()) throw std::invalid_argument("the network has no layers; give one that has");
    made_.input = architecture_.input;
    for (LayerIndex l = 0; l < architecture_.layers.size(); ++l) value_of_.push_back(translate(l));
    made_.output = value_of_.back();
    if (made_.output == 0) throw std::invalid_argument("the network computes nothing; give one with layers that do");
    return std::move(made_);
  }

 private:
  ValueIndex value(LayerIndex layer) const { return layer == network_input ? 0 : value_of_[layer]; }

  /// The step that makes this layer's only input, if nothing else reads its output.
  InferenceStep* sole_source(const LayerSpec& layer) {
    const LayerIndex from = layer.inputs[0];
    if (from == network_input || readers_[from] != 1 || value_of_[from] == 0) return nullptr;
    // An identity (flatten, dropout) shares its input's value, which others may read.
    const LayerSpec& source = architecture_.layers[from];
    if (source.is("flatten") || source.is("dropout")) return nullptr;
    return &made_.steps[value_of_[from] - 1];
  }

  ValueIndex translate(LayerIndex l) {
    static const std::map<std::string_view, ValueIndex (Translation::*)(LayerIndex)> translations = {
        {"conv", &Translation::product},
        {"linear", &Translation::product},
        {"batch_norm", &Translation::batch_norm},
        {"relu", &Translation::relu},
        {"max_pool", &Translation::as<Kind::max_pool>},
        {"average_pool", &Translation::as<Kind::average_pool>},
        {"add", &Translation::as<Kind::add>},
        {"flatten", &Translation::identity},  // channels, height, width are already in this order
        {"dropout", &Translation::identity},  // does nothing in inference
    };
    const LayerSpec& layer = architecture_.layers[l];
    if (const auto known = translations.find(layer.entry->name); known != translations.end()) return (this->*known->second)(l);
    throw std::invalid_argument("its layer '" + layer.name +
                                "' cannot be quantized; known are convolutions, linear layers, batch norm, ReLU, max and average pools, "
                                "sums of branches, dropout and flatten");
  }

  template <Kind kind>
  ValueIndex as(LayerIndex l) {
    return append(kind, architecture_.layers[l]);
  }
  ValueIndex identity(LayerIndex l) { return value(architecture_.layers[l].inputs[0]); }

  ValueIndex append(Kind kind, const LayerSpec& layer) {
    InferenceStep step;
    step.kind = kind;
    step.name = layer.name;
    for (const LayerIndex input : layer.inputs) step.inputs.push_back(value(input));
    step.in = layer.in;
    step.out = layer.out;
    step.window = layer.window;
    made_.steps.push_back(std::move(step));
    return made_.steps.size();
  }

  ValueIndex product(LayerIndex l) {
    const LayerSpec& layer = architecture_.layers[l];
    if (layer.tied)
      throw std::invalid_argument("its layer '" + layer.name + "' shares the weight of '" + architecture_.layers[*layer.tied].name +
                                  "' and cannot be quantized; give it one of its own");
    const ValueIndex made = append(Kind::product, layer);
    InferenceStep& step = made_.steps.back();
    step.tensors = prefix_of(layer);
    step.linear = layer.is("linear");
    if (step.linear) step.window = {};
    const std::size_t inputs = layer.tensors[0].shape.at(1);  // channels that one output sees
    step.groups = layer.in.channels / inputs;
    const float* const weight = weights_ + layout_.tensors[l][0];
    step.weight.assign(weight, weight + layer.out.channels * step.patch());
    step.bias.assign(layer.out.channels, 0.0f);
    if (layer.tensors.size() > 1) std::copy_n(weights_ + layout_.tensors[l][1], layer.out.channels, step.bias.data());
    return made;
  }

  ValueIndex batch_norm(LayerIndex l) {
    const LayerSpec& layer = architecture_.layers[l];
    made_.had_batch_norm = true;
    const std::size_t channels = layer.in.channels;
    const float *const weight = weights_ + layout_.tensors[l][0], *const bias = weights_ + layout_.tensors[l][1];
    const float *const mean = weights_ + layout_.statistics[l], *const variance = mean + channels;
    InferenceStep* step = sole_source(layer);
    ValueIndex made = value(layer.inputs[0]);
    if (!step || step->kind != Kind::product || step->rectified) {
      made = append(Kind::product, layer);
      step = &made_.steps.back();
      step->tensors = prefix_of(layer);
      step->window = {};
      step->groups = channels;
      step->weight.assign(channels, 1.0f);
      step->bias.assign(channels, 0.0f);
    }
    const std::size_t patch = step->patch();
    for (std::size_t c = 0; c < channels; ++c) {
      const double a = static_cast<double>(weight[c]) / std::sqrt(static_cast<double>(variance[c]) + norm_epsilon);
      for (std::size_t k = 0; k < patch; ++k) {
        float& each = step->weight[c * patch + k];
        each = static_cast<float>(a * static_cast<double>(each));
      }
      step->bias[c] =
          static_cast<float>(a * (static_cast<double>(step->bias[c]) - static_cast<double>(mean[c])) + static_cast<double>(bias[c]));
    }
    return made;
  }

  ValueIndex relu(LayerIndex l) {
    const LayerSpec& layer = architecture_.layers[l];
    InferenceStep* const step = sole_source(layer);
    if (!step || step->kind == Kind::max_pool) return append(Kind::relu, layer);
    if (step->kind != Kind::relu) step->rectified = true;
    return value(layer.inputs[0]);
  }

  const Architecture& architecture_;
  const float* const weights_;
  const NetworkLayout layout_;
  std::vector<std::size_t> readers_;  // of each layer's output
  std::vector<ValueIndex> value_of_;  // of each layer translated so far
  InferenceNetwork made_;
};

}  // namespace

std::vector<std::size_t> InferenceNetwork::readers() const {
  std::vector<std::size_t> count(values(), 0);
  for (const InferenceStep& step : steps)
    for (const ValueIndex input : step.inputs) ++count[input];
  ++count[output];
  return count;
}

const InferenceStep* InferenceNetwork::scores() const {
  if (output == 0) return nullptr;
  const InferenceStep& last = steps[output - 1];
  return last.kind == InferenceStep::Kind::product && !last.rectified && readers()[output] == 1 ? &last : nullptr;
}

InferenceNetwork inference_network(const Architecture& architecture, const float* weights) {
  return Translation(architecture, weights).translate();
}

}  // namespace straggler
