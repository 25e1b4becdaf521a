#include "models/zoo/architecture.hpp"

#include <stdexcept>

namespace straggler {
namespace {

/// Of convolutions and pools.
Parameters parameters_of(const Window& window) {
  const auto whole = [](std::size_t count) { return static_cast<std::int64_t>(count); };
  return {{"window", std::vector<std::int64_t>{whole(window.height), whole(window.width)}},
          {"stride", whole(window.stride)},
          {"pad", std::vector<std::int64_t>{whole(window.pad_height), whole(window.pad_width)}}};
}

/// "11 x 8".
std::string sides_text(const std::vector<std::size_t>& shape) {
  std::string text;
  for (const std::size_t side : shape) text += (text.empty() ? "" : " x ") + std::to_string(side);
  return text;
}

}  // namespace

const Shape& ArchitectureBuilder::shape(LayerIndex layer) const {
  if (layer == network_input) return made_.input;
  if (layer >= made_.layers.size()) throw std::invalid_argument("an architecture has no such layer yet; feed a layer from earlier ones");
  return made_.layers[layer].out;
}

LayerIndex ArchitectureBuilder::layer(std::string_view kind, const std::vector<LayerIndex>& from, Parameters given,
                                      const std::optional<LayerName>& named, std::optional<LayerIndex> tied) {
  const LayerEntry& entry = Registry<LayerEntry>::instance().at(kind);
  std::vector<Shape> inputs;
  for (const LayerIndex each : from) inputs.push_back(shape(each));
  const bool fed_by_layer = !from.empty() && from.front() != network_input;
  const LayerName name = named ? *named : (fed_by_layer ? made_.layers[from.front()].name : std::string("input")) + "." + entry.name;
  try {
    LayerSpec made = make_layer(entry, std::move(given), inputs, name.tensors);
    if (tied) tie(made, *tied);
    made_.layers.push_back(std::move(made));
  } catch (const std::invalid_argument& wrong) {
    throw std::invalid_argument(name.layer + ": " + wrong.what());
  }
  made_.layers.back().name = name.layer;
  made_.layers.back().inputs = from;
  made_.layers.back().block = block_;
  return made_.layers.size() - 1;
}

void ArchitectureBuilder::tie(LayerSpec& layer, LayerIndex to) const {
  const LayerSpec& owner = made_.layers.at(to);
  if (owner.tied) return tie(layer, *owner.tied);
  if (owner.tensors.empty() || layer.tensors.empty()) throw std::invalid_argument("a layer without weights cannot be tied; tie others");
  const std::vector<std::size_t>&own = layer.tensors.front().shape, &other = owner.tensors.front().shape;
  if (own != other)
    throw std::invalid_argument("its weight of " + sides_text(own) + " cannot be that of '" + owner.name + "', which is " +
                                sides_text(other) + "; make them equal");
  layer.tensors.erase(layer.tensors.begin());
  layer.tied = to;
}

LayerIndex ArchitectureBuilder::conv(LayerIndex from, const LayerName& name, std::size_t channels, const Window& window, bool bias,
                                     std::size_t groups) {
  Parameters given = parameters_of(window);
  given.set("channels", whole(channels));
  given.set("bias", bias);
  given.set("groups", whole(groups));
  return layer("conv", {from}, std::move(given), name);
}

LayerIndex ArchitectureBuilder::max_pool(LayerIndex from, const Window& window) { return layer("max_pool", {from}, parameters_of(window)); }

LayerIndex ArchitectureBuilder::average_pool(LayerIndex from, const Window& window) {
  return layer("average_pool", {from}, parameters_of(window));
}

}  // namespace straggler
