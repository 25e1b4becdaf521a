#include "models/zoo/network.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "models/zoo/cost_model.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"

namespace straggler {
namespace {

void fill(const TensorSpec& tensor, std::uint64_t seed, float* out) {
  const std::size_t count = elements(tensor.shape);
  const double size = tensor.initial.size;
  if (tensor.initial.rule == InitialValues::Rule::constant) {
    std::fill_n(out, count, static_cast<float>(size));
    return;
  }
  RandomStream stream(seed, "model/" + tensor.name);
  if (tensor.initial.rule == InitialValues::Rule::uniform) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>((2 * stream.uniform() - 1) * size);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {  // Box and Muller 1958
    const double radius = size * std::sqrt(-2 * std::log(1 - stream.uniform()));
    out[i] = static_cast<float>(radius * std::cos(2 * std::numbers::pi * stream.uniform()));
  }
}

/// By the layer that even the plain engine lacks.
[[noreturn]] void refuse(const Architecture& architecture, const ModelSetting& setting) {
  Registry<NetworkEngine>::instance().at("reference").make(architecture, setting);
  throw std::logic_error("an engine makes a network that it does not compute");
}

}  // namespace

NetworkLayout::NetworkLayout(const Architecture& architecture) {
  for (const LayerSpec& layer : architecture.layers) {
    tensors.emplace_back();
    if (layer.tied) tensors.back().push_back(tensors[*layer.tied].front());
    for (const TensorSpec& tensor : layer.tensors) {
      tensors.back().push_back(parameters);
      parameters += elements(tensor.shape);
    }
  }
  for (const LayerSpec& layer : architecture.layers) {
    statistics.push_back(parameters + statistic_floats);
    for (const TensorSpec& buffer : layer.buffers) statistic_floats += elements(buffer.shape);
  }
}

std::size_t NetworkLayout::own(const Architecture& architecture, LayerIndex layer, std::size_t tensor) const {
  return tensors[layer][tensor + (architecture.layers[layer].tied ? 1 : 0)];
}

std::vector<TensorInfo> tensors_of(const Architecture& architecture) {
  const NetworkLayout layout(architecture);
  const auto last =
      std::find_if(architecture.layers.rbegin(), architecture.layers.rend(), [](const LayerSpec& layer) { return layer.entry->scores; });
  const std::size_t output = static_cast<std::size_t>(architecture.layers.rend() - last) - 1;  // beyond all layers if there is none
  std::vector<TensorInfo> infos;
  for (std::size_t l = 0; l < architecture.layers.size(); ++l)
    for (std::size_t t = 0; t < architecture.layers[l].tensors.size(); ++t) {
      const TensorSpec& tensor = architecture.layers[l].tensors[t];
      infos.push_back(
          {tensor.name, tensor.shape, layout.own(architecture, l, t), l == output ? std::vector<std::size_t>() : tensor.matrices});
    }
  return infos;
}

std::vector<TensorInfo> buffers_of(const Architecture& architecture) {
  const NetworkLayout layout(architecture);
  std::vector<TensorInfo> infos;
  for (std::size_t l = 0; l < architecture.layers.size(); ++l) {
    std::size_t at = layout.statistics[l];
    for (const TensorSpec& buffer : architecture.layers[l].buffers) {
      infos.push_back({buffer.name, buffer.shape, at});
      at += elements(buffer.shape);
    }
  }
  return infos;
}

void initialize(const Architecture& architecture, std::uint64_t seed, float* weights) {
  const NetworkLayout layout(architecture);
  for (std::size_t l = 0; l < architecture.layers.size(); ++l) {
    const LayerSpec& layer = architecture.layers[l];
    for (std::size_t t = 0; t < layer.tensors.size(); ++t) fill(layer.tensors[t], seed, weights + layout.own(architecture, l, t));
    std::size_t at = layout.statistics[l];
    for (const TensorSpec& buffer : layer.buffers) {
      fill(buffer, seed, weights + at);
      at += elements(buffer.shape);
    }
  }
}

std::vector<LayerCost> cost_of(const Architecture& architecture) {
  std::vector<LayerCost> cost;
  for (const CostLayer& layer : cost_table(architecture).layers)
    cost.push_back({layer.name, layer.parameters(), layer.forward_flops, layer.activation_bytes, layer.operations});
  return cost;
}

namespace {

/// Those that support the network, fastest first. `panels` fills its lanes with samples for any layer, which is faster than oneDNN except
/// where Winograd's algorithm saves multiplications on many channels.
std::vector<const NetworkEngine*> fastest_first(const Architecture& architecture, const ModelSetting& setting) {
  const bool many_channels = std::any_of(architecture.layers.begin(), architecture.layers.end(),
                                         [](const LayerSpec& layer) { return layer.is("conv") && layer.in.channels > 64; });
  std::vector<const NetworkEngine*> able;
  for (const char* const name : {many_channels ? "onednn" : "panels", many_channels ? "panels" : "onednn", "reference"})
    if (const NetworkEngine* const engine = Registry<NetworkEngine>::instance().find(name);
        engine && engine->computes(architecture, setting))
      able.push_back(engine);
  return able;
}

/// The network without its layers of a kind; none where one of them changes more than numbers.
std::optional<Architecture> without(const Architecture& architecture, const LayerEntry& kind) {
  Architecture left{architecture.input, {}};
  std::vector<LayerIndex> place;  // [layers of `architecture`]: of what makes their output, in `left`
  for (LayerSpec layer : architecture.layers) {
    for (LayerIndex& input : layer.inputs)
      if (input != network_input) input = place[input];
    if (layer.tied) layer.tied = place[*layer.tied];
    if (layer.entry != &kind) {
      place.push_back(left.layers.size());
      left.layers.push_back(std::move(layer));
      continue;
    }
    if (layer.inputs.size() != 1 || layer.in != layer.out || !layer.tensors.empty()) return std::nullopt;
    place.push_back(layer.inputs.front());
  }
  return left;
}

}  // namespace

std::optional<Hindrance> hindrance(const Architecture& architecture, const ModelSetting& setting) {
  std::vector<const LayerEntry*> tried;
  for (const LayerSpec& layer : architecture.layers) {
    if (std::find(tried.begin(), tried.end(), layer.entry) != tried.end()) continue;
    tried.push_back(layer.entry);
    const std::optional<Architecture> left = without(architecture, *layer.entry);
    if (!left || left->layers.empty()) continue;
    for (const NetworkEngine* const engine : fastest_first(*left, setting))
      if (!engine->plain) return Hindrance{&layer, engine};
  }
  return std::nullopt;
}

const NetworkEngine& choose_engine(const Architecture& architecture, const ModelSetting& setting, const std::string& engine) {
  const Registry<NetworkEngine>& engines = Registry<NetworkEngine>::instance();
  if (engine == "onednn" && !engines.find(engine)) throw std::invalid_argument("this program was built without oneDNN; use engine: auto");
  if (engine != "auto") {
    const NetworkEngine& asked = engines.at(engine);  // throws on an unknown name
    if (asked.computes(architecture, setting)) return asked;
    if (!engines.at("reference").computes(architecture, setting)) refuse(architecture, setting);
    throw std::invalid_argument("the engine '" + engine + "' does not compute all layers of this network with these kernels; use auto");
  }
  for (const NetworkEngine* const able : fastest_first(architecture, setting))
    if (!able->usable || able->usable(setting)) return *able;
  refuse(architecture, setting);
}

const NetworkEngine* passed_over(const Architecture& architecture, const ModelSetting& setting, std::string_view chosen) {
  if (!Registry<NetworkEngine>::instance().find(chosen)) return nullptr;
  const std::vector<const NetworkEngine*> able = fastest_first(architecture, setting);
  return able.empty() || able.front()->name == chosen ? nullptr : able.front();
}

std::unique_ptr<Model> make_network(Architecture architecture, const ModelSetting& setting, const std::string& engine) {
  const NetworkEngine& chosen = choose_engine(architecture, setting, engine);
  return chosen.make(std::move(architecture), setting);
}

}  // namespace straggler
