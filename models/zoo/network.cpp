#include "models/zoo/network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "models/zoo/cost_model.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"

namespace straggler {
namespace {

/// Inputs of one output.
std::size_t fan_in(const std::vector<std::size_t>& weight) { return elements(weight) / weight[0]; }

void fill_normal(RandomStream stream, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) {  // Box and Muller 1958
    const double radius = std::sqrt(-2 * std::log(1 - stream.uniform()));
    out[i] = static_cast<float>(radius * std::cos(2 * std::numbers::pi * stream.uniform()));
  }
}

}  // namespace

NetworkLayout::NetworkLayout(const Architecture& architecture) {
  for (const LayerSpec& layer : architecture.layers) {
    tensors.emplace_back();
    for (const TensorSpec& tensor : layer.tensors) {
      tensors.back().push_back(parameters);
      parameters += elements(tensor.shape);
    }
  }
  for (const LayerSpec& layer : architecture.layers) {
    statistics.push_back(parameters + statistic_floats);
    if (layer.kind == LayerKind::batch_norm) statistic_floats += 2 * layer.in.channels;
  }
}

std::vector<TensorInfo> tensors_of(const Architecture& architecture) {
  const NetworkLayout layout(architecture);
  std::vector<TensorInfo> infos;
  for (std::size_t l = 0; l < architecture.layers.size(); ++l)
    for (std::size_t t = 0; t < architecture.layers[l].tensors.size(); ++t) {
      const TensorSpec& tensor = architecture.layers[l].tensors[t];
      infos.push_back({tensor.name, tensor.shape, layout.tensors[l][t]});
    }
  return infos;
}

std::vector<TensorInfo> buffers_of(const Architecture& architecture) {
  const NetworkLayout layout(architecture);
  std::vector<TensorInfo> infos;
  for (std::size_t l = 0; l < architecture.layers.size(); ++l) {
    const LayerSpec& layer = architecture.layers[l];
    if (layer.kind != LayerKind::batch_norm) continue;
    const std::string& weight = layer.tensors.at(0).name;
    const std::string prefix = weight.substr(0, weight.rfind('.'));
    infos.push_back({prefix + ".running_mean", {layer.in.channels}, layout.statistics[l]});
    infos.push_back({prefix + ".running_var", {layer.in.channels}, layout.statistics[l] + layer.in.channels});
  }
  return infos;
}

void initialize(const Architecture& architecture, std::uint64_t seed, float* weights) {
  const NetworkLayout layout(architecture);
  for (std::size_t l = 0; l < architecture.layers.size(); ++l) {
    const LayerSpec& layer = architecture.layers[l];
    const bool norm = layer.kind == LayerKind::batch_norm || layer.kind == LayerKind::layer_norm;
    for (std::size_t t = 0; t < layer.tensors.size(); ++t) {
      float* const tensor = weights + layout.tensors[l][t];
      const std::size_t count = elements(layer.tensors[t].shape);
      RandomStream stream(seed, "model/" + layer.tensors[t].name);
      if (norm) {
        std::fill_n(tensor, count, t == 0 ? 1.0f : 0.0f);
      } else if (layer.kind == LayerKind::embedding) {
        fill_normal(stream, count, tensor);
      } else {
        const double bound = 1 / std::sqrt(static_cast<double>(fan_in(layer.tensors[0].shape)));
        for (std::size_t i = 0; i < count; ++i) tensor[i] = static_cast<float>((2 * stream.uniform() - 1) * bound);
      }
    }
    if (layer.kind != LayerKind::batch_norm) continue;
    std::fill_n(weights + layout.statistics[l], layer.in.channels, 0.0f);
    std::fill_n(weights + layout.statistics[l] + layer.in.channels, layer.in.channels, 1.0f);
  }
}

std::vector<LayerCost> cost_of(const Architecture& architecture) {
  std::vector<LayerCost> cost;
  for (const CostLayer& layer : cost_table(architecture).layers)
    cost.push_back({layer.name, layer.parameters(), layer.forward_flops, layer.activation_bytes, layer.operations});
  return cost;
}

const NetworkEngine& choose_engine(const Architecture& architecture, const ModelSetting& setting, const std::string& engine) {
  const Registry<NetworkEngine>& engines = Registry<NetworkEngine>::instance();
  if (engine == "onednn" && !engines.find(engine)) throw std::invalid_argument("this program was built without oneDNN; use engine: auto");
  if (engine != "auto") {
    const NetworkEngine& asked = engines.at(engine);  // throws on an unknown name
    if (!asked.computes(architecture, setting))
      throw std::invalid_argument("the engine '" + engine + "' does not compute all layers of this network with these kernels; use auto");
    return asked;
  }
  // `panels` fills its lanes with samples for any layer, which is faster than oneDNN except where Winograd's algorithm saves
  // multiplications on many channels.
  const bool many_channels = std::any_of(architecture.layers.begin(), architecture.layers.end(),
                                         [](const LayerSpec& layer) { return layer.kind == LayerKind::conv && layer.in.channels > 64; });
  const std::array<const char*, 3> fastest_first = {many_channels ? "onednn" : "panels", many_channels ? "panels" : "onednn", "reference"};
  for (const char* const name : fastest_first)
    if (const NetworkEngine* const able = engines.find(name); able && able->computes(architecture, setting)) return *able;
  throw std::invalid_argument("no engine computes all layers of this network");
}

std::unique_ptr<Model> make_network(Architecture architecture, const ModelSetting& setting, const std::string& engine) {
  const NetworkEngine& chosen = choose_engine(architecture, setting, engine);
  return chosen.make(std::move(architecture), setting);
}

}  // namespace straggler
