#include "models/zoo/architecture.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace straggler {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& sentence) { throw std::invalid_argument(name + ": " + sentence); }

std::string text(const Shape& shape) {
  return std::to_string(shape.channels) + " x " + std::to_string(shape.height) + " x " + std::to_string(shape.width);
}

/// floor((in + 2 pad - side) / stride) + 1
std::size_t outputs(const std::string& name, std::size_t in, std::size_t side, std::size_t stride, std::size_t pad) {
  if (side == 0 || stride == 0) refuse(name, "a window without places or stride; both are at least 1");
  if (in + 2 * pad < side) refuse(name, "the window is wider than its padded input; make the input larger");
  return (in + 2 * pad - side) / stride + 1;
}

Shape slide(const std::string& name, const Shape& in, std::size_t channels, const Window& window) {
  return {channels, outputs(name, in.height, window.height, window.stride, window.pad_height),
          outputs(name, in.width, window.width, window.stride, window.pad_width)};
}

std::vector<TensorSpec> weight_and_bias(const std::string& prefix, std::vector<std::size_t> weight, std::size_t bias) {
  std::vector<TensorSpec> tensors{{prefix + ".weight", std::move(weight)}};
  if (bias > 0) tensors.push_back({prefix + ".bias", {bias}});
  return tensors;
}

}  // namespace

const Shape& ArchitectureBuilder::shape(LayerIndex layer) const {
  if (layer == network_input) return made_.input;
  if (layer >= made_.layers.size()) throw std::invalid_argument("an architecture has no such layer yet; feed a layer from earlier ones");
  return made_.layers[layer].out;
}

LayerIndex ArchitectureBuilder::append(LayerSpec layer) {
  if (layer.out.size() == 0) refuse(layer.name, "its output is empty (" + text(layer.out) + "); every width is at least 1");
  made_.layers.push_back(std::move(layer));
  return made_.layers.size() - 1;
}

std::string ArchitectureBuilder::name_after(LayerIndex from, const char* what) const {
  return (from == network_input ? std::string("input") : made_.layers[from].name) + "." + what;
}

LayerIndex ArchitectureBuilder::conv(LayerIndex from, const LayerName& name, std::size_t channels, const Window& window, bool bias,
                                     std::size_t groups) {
  const Shape in = shape(from);
  if (groups == 0 || in.channels % groups != 0 || channels % groups != 0)
    refuse(name.layer, std::to_string(in.channels) + " channels to " + std::to_string(channels) + " do not split into " +
                           std::to_string(groups) + " groups; choose a divisor of both");
  LayerSpec layer{LayerKind::conv,
                  name.layer,
                  {from},
                  in,
                  slide(name.layer, in, channels, window),
                  window,
                  1,
                  weight_and_bias(name.tensors, {channels, in.channels / groups, window.height, window.width}, bias ? channels : 0)};
  layer.groups = groups;
  return append(std::move(layer));
}

LayerIndex ArchitectureBuilder::batch_norm(LayerIndex from, const LayerName& name) {
  const Shape in = shape(from);
  return append({LayerKind::batch_norm, name.layer, {from}, in, in, {}, 1, weight_and_bias(name.tensors, {in.channels}, in.channels)});
}

LayerIndex ArchitectureBuilder::layer_norm(LayerIndex from, const LayerName& name) {
  const Shape in = shape(from);
  return append({LayerKind::layer_norm, name.layer, {from}, in, in, {}, 1, weight_and_bias(name.tensors, {in.channels}, in.channels)});
}

LayerIndex ArchitectureBuilder::linear(LayerIndex from, const LayerName& name, std::size_t channels) {
  const Shape in = shape(from), out{channels, in.height, in.width};
  return append({LayerKind::linear, name.layer, {from}, in, out, {}, 1, weight_and_bias(name.tensors, {channels, in.channels}, channels)});
}

LayerIndex ArchitectureBuilder::embedding(LayerIndex from, const LayerName& name, std::size_t rows, std::size_t channels) {
  const Shape in = shape(from), out{channels, in.height, in.width};
  if (in.channels != 1) refuse(name.layer, text(in) + " is not a token input; use one channel");
  return append({LayerKind::embedding, name.layer, {from}, in, out, {}, 1, weight_and_bias(name.tensors, {rows, channels}, 0)});
}

LayerIndex ArchitectureBuilder::same_shape(LayerKind kind, LayerIndex from, const char* what) {
  const Shape in = shape(from);
  return append({kind, name_after(from, what), {from}, in, in, {}, 1, {}});
}

LayerIndex ArchitectureBuilder::dropout(LayerIndex from, double rate) {
  if (!(rate >= 0 && rate < 1))
    refuse(name_after(from, "dropout"), "drop rate " + std::to_string(rate) + " is out of range; use 0 <= rate < 1");
  const LayerIndex made = same_shape(LayerKind::dropout, from, "dropout");
  made_.layers[made].dropout_rate = rate;
  return made;
}

LayerIndex ArchitectureBuilder::pool(LayerKind kind, LayerIndex from, const Window& window, const char* what) {
  const Shape in = shape(from);
  const std::string name = name_after(from, what);
  if (window.pad_height >= std::max<std::size_t>(window.height, 1) || window.pad_width >= std::max<std::size_t>(window.width, 1))
    refuse(name, "some windows lie in the padding alone; pad by less than the window's side");
  return append({kind, name, {from}, in, slide(name, in, in.channels, window), window, 1, {}});
}

LayerIndex ArchitectureBuilder::max_pool(LayerIndex from, const Window& window) {
  return pool(LayerKind::max_pool, from, window, "max_pool");
}

LayerIndex ArchitectureBuilder::average_pool(LayerIndex from, const Window& window) {
  return pool(LayerKind::average_pool, from, window, "average_pool");
}

LayerIndex ArchitectureBuilder::global_average_pool(LayerIndex from) {
  const Shape in = shape(from);
  return average_pool(from, {in.height, in.width, 1, 0, 0});
}

LayerIndex ArchitectureBuilder::add(const std::vector<LayerIndex>& from) {
  const Shape in = shape(from.at(0));
  for (const LayerIndex each : from)
    if (shape(each) != in)
      refuse(name_after(from[0], "add"), text(in) + " and " + text(shape(each)) + " have different shapes; add needs equal shapes");
  return append({LayerKind::add, name_after(from[0], "add"), from, in, in, {}, 1, {}});
}

LayerIndex ArchitectureBuilder::concat(const std::vector<LayerIndex>& from) {
  const Shape in = shape(from.at(0));
  Shape out{0, in.height, in.width};
  for (const LayerIndex each : from) {
    const Shape& other = shape(each);
    if (other.height != in.height || other.width != in.width)
      refuse(name_after(from[0], "concat"), text(in) + " and " + text(other) + " cover different places; make them alike");
    out.channels += other.channels;
  }
  return append({LayerKind::concat, name_after(from[0], "concat"), from, in, out, {}, 1, {}});
}

LayerIndex ArchitectureBuilder::flatten(LayerIndex from) {
  const Shape in = shape(from);
  return append({LayerKind::flatten, name_after(from, "flatten"), {from}, in, {in.size(), 1, 1}, {}, 1, {}});
}

LayerIndex ArchitectureBuilder::first_place(LayerIndex from) {
  const Shape in = shape(from);
  return append({LayerKind::first_place, name_after(from, "first"), {from}, in, {in.channels, 1, 1}, {}, 1, {}});
}

LayerIndex ArchitectureBuilder::attention_scores(LayerIndex queries, LayerIndex keys, const std::string& name, std::size_t heads) {
  const Shape in = shape(queries), other = shape(keys);
  if (in.width != 1 || other.width != 1 || in.channels != other.channels)
    refuse(name, text(in) + " and " + text(other) + " are not matching queries and keys; give two sequences of equal width");
  if (heads == 0 || in.channels % heads != 0)
    refuse(name, std::to_string(in.channels) + " features do not split into " + std::to_string(heads) + " heads; choose a divisor");
  return append({LayerKind::attention_scores, name, {queries, keys}, in, {heads, in.height, other.height}, {}, heads, {}});
}

LayerIndex ArchitectureBuilder::attention_context(LayerIndex scores, LayerIndex values, const std::string& name) {
  const Shape in = shape(scores), other = shape(values);
  if (in.width != other.height || other.channels % in.channels != 0)
    refuse(name, text(in) + " and " + text(other) + " are not matching scores and values; give a score for each value and head");
  return append({LayerKind::attention_context, name, {scores, values}, in, {other.channels, in.height, 1}, {}, in.channels, {}});
}

}  // namespace straggler
