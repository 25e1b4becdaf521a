// The architectures that the engine `panels` supports, and their steps.
#include <map>
#include <string_view>
#include <utility>

#include "models/zoo/panel_network.hpp"
#include "models/zoo/place_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler {
namespace {

using Kind = PanelStep::Kind;

Convolution convolution(const LayerSpec& layer) {
  return {layer.sliding(), layer.in.channels, layer.out.channels, layer.in.channels / layer.tensors.at(0).shape.at(1)};
}

/// A window that always holds a place of the plane, and whose size fits a byte.
bool pools(const LayerSpec& layer) {
  const SlidingWindow s = layer.sliding();
  return s.places() <= most_pooled && 2 * s.pad_height <= s.height && 2 * s.pad_width <= s.width;
}

bool is_chain(const Architecture& architecture) {
  for (std::size_t i = 0; i < architecture.layers.size(); ++i) {
    const std::vector<LayerIndex>& inputs = architecture.layers[i].inputs;
    if (inputs.size() != 1 || inputs[0] != (i == 0 ? network_input : i - 1)) return false;
  }
  return !architecture.layers.empty();
}

class Steps {
 public:
  explicit Steps(const Architecture& architecture) : layout_(architecture) {}

  /// False if this engine lacks the layer.
  bool add(const LayerSpec& layer, std::size_t index) {
    static const std::map<std::string_view, bool (Steps::*)(const LayerSpec&, std::size_t)> adders = {
        {"flatten", &Steps::add_nothing}, {"conv", &Steps::add_conv},         {"linear", &Steps::add_linear},
        {"relu", &Steps::add_relu},       {"max_pool", &Steps::add_max_pool}, {"average_pool", &Steps::add_average_pool}};
    const auto adder = adders.find(layer.entry->name);
    return adder != adders.end() && (this->*adder->second)(layer, index);
  }
  /// Empty if no layer above the last ReLU would apply its derivative.
  std::vector<PanelStep> take() && { return rectified_ ? std::vector<PanelStep>() : std::move(steps_); }

 private:
  PanelStep& append(const LayerSpec& layer, Kind kind) {
    PanelStep step;
    step.kind = kind;
    step.in = layer.in.size();
    step.out = layer.out.size();
    step.rectified_input = rectified_;
    if (kind == Kind::max_pool || kind == Kind::average_pool) {
      step.channels = layer.in.channels;
      step.pool = layer.sliding();
    }
    steps_.push_back(step);
    return steps_.back();
  }

  /// Flatten: the memory layout is the same.
  bool add_nothing(const LayerSpec&, std::size_t) { return true; }

  bool add_conv(const LayerSpec& layer, std::size_t index) {
    add_weighted(layer, index, Kind::conv).conv = convolution(layer);
    return true;
  }

  bool add_linear(const LayerSpec& layer, std::size_t index) {
    if (layer.in.places() != 1 || layer.tensors.size() != 2) return false;
    add_weighted(layer, index, Kind::dense);
    return true;
  }

  PanelStep& add_weighted(const LayerSpec& layer, std::size_t index, Kind kind) {
    PanelStep& step = append(layer, kind);
    step.weights = layout_.tensors[index].at(0);
    step.biased = layer.tensors.size() > 1;
    if (step.biased) step.bias = layout_.tensors[index][1];
    rectified_ = false;
    return step;
  }

  bool add_relu(const LayerSpec& layer, std::size_t) {
    if (rectified_) return true;  // already rectified
    const bool fuses = !steps_.empty() && !steps_.back().pooled && (steps_.back().kind == Kind::conv || steps_.back().kind == Kind::dense);
    if (fuses)
      steps_.back().relu = true;
    else
      append(layer, Kind::relu);
    rectified_ = true;
    return true;
  }

  bool add_average_pool(const LayerSpec& layer, std::size_t) {
    if (!pools(layer)) return false;
    append(layer, Kind::average_pool);
    rectified_ = false;
    return true;
  }

  bool add_max_pool(const LayerSpec& layer, std::size_t) {
    if (!pools(layer)) return false;
    if (!steps_.empty() && steps_.back().kind == Kind::conv && !steps_.back().pooled) {
      steps_.back().pooled = true;
      steps_.back().pool = layer.sliding();
      steps_.back().out = layer.out.size();
    } else {
      append(layer, Kind::max_pool);
    }
    return true;
  }

  NetworkLayout layout_;
  std::vector<PanelStep> steps_;
  bool rectified_ = false;  // whether the last step's output is
};

const Register<NetworkEngine> panels_engine({
    .name = "panels",
    .summary = "own kernels, 32 samples or places side by side: chains of convolutions, ReLUs, pools and linear layers; transformers",
    .computes = [](const Architecture& architecture,
                   const ModelSetting&) { return !panel_steps(architecture).empty() || PlaceNetwork::computes(architecture); },
    .make = [](Architecture architecture, const ModelSetting& setting) -> std::unique_ptr<Model> {
      if (panel_steps(architecture).empty()) return std::make_unique<PlaceNetwork>(std::move(architecture), setting);
      return std::make_unique<PanelNetwork>(std::move(architecture), setting);
    },
});

}  // namespace

std::vector<PanelStep> panel_steps(const Architecture& architecture) {
  if (!is_chain(architecture)) return {};
  const Shape& out = architecture.layers.back().out;
  if (out.height != 1 || out.width != 1) return {};
  Steps steps(architecture);
  for (std::size_t i = 0; i < architecture.layers.size(); ++i)
    if (!steps.add(architecture.layers[i], i)) return {};
  return std::move(steps).take();
}

}  // namespace straggler
