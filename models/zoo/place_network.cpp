#include "models/zoo/place_network.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/layers/floats.hpp"
#include "models/zoo/reference_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler {
namespace {

/// Rows of the costliest layer that pass through the layers together, which read the weights from a farther cache once for all of them;
/// fewer where a layer's output were more floats than these. Fixed, so that results depend on the samples alone: a longer call is the sum
/// of its blocks in order.
constexpr std::size_t rows_of_block = 512, floats_of_block = std::size_t{1} << 22;

const PlaceLayer* row_of(const LayerSpec& layer) {
  const PlaceLayer* const row = Registry<PlaceLayer>::instance().find(layer.entry->name);
  return row && (!row->able || row->able(layer)) ? row : nullptr;
}

std::size_t block_samples(const Architecture& architecture) {
  std::size_t places = 1, widest = architecture.input.size();
  double most = 0;
  for (const LayerSpec& layer : architecture.layers) {
    widest = std::max(widest, layer.out.size());
    const double work = layer.entry->multiply_adds ? layer.entry->multiply_adds(layer) : 0;
    if (work <= most) continue;
    most = work;
    places = layer.in.places();
  }
  return std::max<std::size_t>(1, std::min(rows_of_block / places, floats_of_block / widest));
}

}  // namespace

/// Of one thread.
struct PlaceNetwork::Scratch final : Workspace {
  std::size_t samples = 0, trained = 0;  // for which there is room: forward, and backward
  std::vector<Floats> outputs, kept;     // [layers]
  std::vector<Floats> derivatives;       // [slots]
  Floats inputs, weights, scratch;
  Floats spare;  // a derivative that is added to another
  std::vector<float> scale;
  std::vector<PlacePass::Input> layer_inputs;
};

/// Samples that pass through the layers together.
struct PlaceNetwork::Block {
  const float* weights;  // as used
  const Rows& rows;
  std::size_t first, samples;  // of the rows
  bool training;
  Scratch& scratch;
};

bool PlaceNetwork::computes(const Architecture& architecture) {
  return ReferenceNetwork<float>::lacks(architecture).empty() &&
         std::all_of(architecture.layers.begin(), architecture.layers.end(),
                     [](const LayerSpec& layer) { return row_of(layer) != nullptr; });
}

PlaceNetwork::PlaceNetwork(Architecture architecture, const ModelSetting& setting)
    : architecture_(std::move(architecture)),
      layout_(architecture_),
      block_(block_samples(architecture_)),
      kernels_(setting.kernels),
      places_(place_kernels(setting.kernels)),
      precision_(setting.precision) {
  if (!computes(architecture_)) throw std::invalid_argument("the engine panels lacks a layer of this network; use another engine");
  slots_ = derivative_slots(architecture_);
  for (const LayerSpec& layer : architecture_.layers) {
    rows_.push_back(row_of(layer));
    tokens_ = tokens_ || layer.entry->tokens;
  }
  std::vector<bool> reached(rows_.size(), false);  // from the last layer back
  again_.resize(rows_.size());
  for (std::size_t l = rows_.size(); l-- > 0;)
    for (const LayerIndex input : architecture_.layers[l].inputs) {
      again_[l].push_back(input != network_input && reached[input]);
      if (input != network_input) reached[input] = true;
    }
}

bool PlaceNetwork::draws() const {
  return std::any_of(architecture_.layers.begin(), architecture_.layers.end(),
                     [](const LayerSpec& layer) { return layer.entry->draws && layer.entry->draws(layer); });
}

std::unique_ptr<Workspace> PlaceNetwork::workspace() const {
  auto scratch = std::make_unique<Scratch>();
  scratch->outputs.resize(rows_.size());
  scratch->kept.resize(rows_.size());
  scratch->derivatives.resize(slots_.floats.size());
  return scratch;
}

std::size_t PlaceNetwork::layer_floats(const Shape& shape, std::size_t samples) const {
  return panel_floats(samples * shape.places(), shape.channels);
}

std::size_t PlaceNetwork::slot_floats(std::size_t slot, std::size_t samples) const {
  std::size_t floats = 0;
  for (std::size_t l = 0; l < rows_.size(); ++l)
    if (slots_.of_layer[l] == slot) floats = std::max(floats, layer_floats(architecture_.layers[l].out, samples));
  return floats;
}

std::size_t PlaceNetwork::scratch_floats(std::size_t samples) const {
  std::size_t floats = 0;
  for (std::size_t l = 0; l < rows_.size(); ++l)
    if (rows_[l]->scratch) floats = std::max(floats, rows_[l]->scratch(architecture_.layers[l], samples));
  return floats;
}

std::size_t PlaceNetwork::widest_output(std::size_t samples) const {
  std::size_t floats = 0;
  for (const LayerSpec& layer : architecture_.layers) floats = std::max(floats, layer_floats(layer.out, samples));
  return floats;
}

std::size_t PlaceNetwork::workspace_bytes(std::size_t samples) const {
  samples = std::min(samples, block_);
  std::size_t floats = layer_floats(architecture_.input, samples) + scratch_floats(samples) + widest_output(samples);
  for (std::size_t l = 0; l < rows_.size(); ++l) {
    floats += layer_floats(architecture_.layers[l].out, samples);
    if (rows_[l]->kept) floats += rows_[l]->kept(architecture_.layers[l], samples);
  }
  for (std::size_t slot = 0; slot < slots_.floats.size(); ++slot) floats += slot_floats(slot, samples);
  if (precision_ != Precision::fp32) floats += layout_.parameters;
  return (floats + samples * architecture_.layers.back().out.places()) * sizeof(float);
}

void PlaceNetwork::make_room(std::size_t samples, bool training, Scratch& scratch) const {
  if (samples > scratch.samples) {
    scratch.samples = samples;
    scratch.inputs.grow(layer_floats(architecture_.input, samples));
    scratch.scratch.grow(scratch_floats(samples));
    for (std::size_t l = 0; l < rows_.size(); ++l) {
      scratch.outputs[l].grow(layer_floats(architecture_.layers[l].out, samples));
      if (rows_[l]->kept) scratch.kept[l].grow(rows_[l]->kept(architecture_.layers[l], samples));
    }
  }
  if (!training || samples <= scratch.trained) return;
  scratch.trained = samples;
  scratch.spare.grow(widest_output(samples));
  scratch.scale.resize(samples * architecture_.layers.back().out.places());
  for (std::size_t slot = 0; slot < slots_.floats.size(); ++slot) scratch.derivatives[slot].grow(slot_floats(slot, samples));
}

const float* PlaceNetwork::rounded(const float* weights, Scratch& scratch) const {
  if (precision_ == Precision::fp32) return weights;
  scratch.weights.grow(layout_.parameters);
  kernels_.round(precision_, layout_.parameters, weights, 1, scratch.weights.data());
  return scratch.weights.data();
}

void PlaceNetwork::round(std::size_t count, float* x) const {
  if (precision_ != Precision::fp32) kernels_.round(precision_, count, x, 1, x);
}

void PlaceNetwork::take_inputs(const Block& block) const {
  const std::size_t channels = architecture_.input.channels, places = architecture_.input.places();
  const float* from = block.rows.inputs + block.first * architecture_.input.size();
  float* const to = block.scratch.inputs.data();
  if (places == 1) {
    kernels_.to_panels(block.samples, channels, from, to);
  } else {
    for (std::size_t sample = 0; sample < block.samples; ++sample)
      for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t row = sample * places; row < (sample + 1) * places; ++row)
          to[row_offset(channels, row) + c * panel_rows] = *from++;
  }
  if (!tokens_) round(layer_floats(architecture_.input, block.samples), to);
}

PlacePass PlaceNetwork::pass_of(const Block& block, std::size_t index) const {
  const LayerSpec& layer = architecture_.layers[index];
  Scratch& scratch = block.scratch;
  scratch.layer_inputs.clear();
  for (const LayerIndex input : layer.inputs)
    scratch.layer_inputs.push_back({input == network_input ? scratch.inputs.data() : scratch.outputs[input].data()});
  return {.layer = layer,
          .index = index,
          .samples = block.samples,
          .training = block.training,
          .draws = block.rows.draws ? block.rows.draws + block.first : nullptr,
          .kernels = kernels_,
          .places = places_,
          .inputs = scratch.layer_inputs,
          .y = scratch.outputs[index].data(),
          .offsets = layout_.tensors[index],
          .weights = block.weights,
          .kept = scratch.kept[index].data(),
          .scratch = scratch.scratch.data()};
}

void PlaceNetwork::forward(const Block& block) const {
  take_inputs(block);
  for (std::size_t l = 0; l < rows_.size() && !block.scratch.called_off(); ++l) {
    rows_[l]->forward(pass_of(block, l));
    round(layer_floats(architecture_.layers[l].out, block.samples), block.scratch.outputs[l].data());
  }
}

double PlaceNetwork::loss(const Block& block) const {
  Scratch& scratch = block.scratch;
  const Shape& out = architecture_.layers.back().out;
  const std::size_t places = out.places(), rows = block.samples * places;
  float* const error = scratch.derivatives[slots_.of_layer.back()].data();
  std::copy_n(scratch.outputs.back().data(), layer_floats(out, block.samples), error);
  for (std::size_t row = 0; row < rows; ++row)
    scratch.scale[row] = block.rows.scale[block.first + row / places] / static_cast<float>(places);
  return kernels_.softmax_cross_entropy(rows, out.channels, error, block.rows.labels + block.first * places, scratch.scale.data());
}

void PlaceNetwork::backward(const Block& block, float* gradient) const {
  for (std::size_t l = rows_.size(); l-- > 0 && !block.scratch.called_off();) {
    round(layer_floats(architecture_.layers[l].out, block.samples), block.scratch.derivatives[slots_.of_layer[l]].data());
    backward_layer(block, l, gradient);
  }
}

void PlaceNetwork::backward_layer(const Block& block, std::size_t index, float* gradient) const {
  const LayerSpec& layer = architecture_.layers[index];
  Scratch& scratch = block.scratch;
  PlacePass pass = pass_of(block, index);
  pass.dy = scratch.derivatives[slots_.of_layer[index]].data();
  pass.weight_gradient = gradient;
  bool of_use = !layer.tensors.empty(), apart = false;
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    if (layer.inputs[i] == network_input) continue;
    PlacePass::Input& input = scratch.layer_inputs[i];
    of_use = true;
    input.add = again_[index][i] && rows_[index]->adds;
    apart = again_[index][i] && !rows_[index]->adds;  // such a row has one input
    input.dx = apart ? scratch.spare.data() : scratch.derivatives[slots_.of_layer[layer.inputs[i]]].data();
  }
  if (of_use) rows_[index]->backward(pass);
  if (!apart) return;
  float* const sum = scratch.derivatives[slots_.of_layer[layer.inputs[0]]].data();
  const float* const both[] = {sum, scratch.spare.data()};
  constexpr float ones[] = {1, 1};
  kernels_.weighted_sum(pass.floats_in(), 2, both, ones, sum);
}

double PlaceNetwork::gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const {
  Scratch& scratch = static_cast<Scratch&>(workspace);
  if (!accumulate) std::fill_n(gradient, layout_.parameters, 0.0f);
  if (rows.count == 0) return 0;
  if (draws() && !rows.draws) throw std::logic_error("a network with dropout wants the draws of its samples");
  weights = rounded(weights, scratch);
  make_room(std::min(block_, rows.count), true, scratch);
  double sum = 0;
  for (std::size_t at = 0; at < rows.count; at += block_) {
    const Block block{weights, rows, at, std::min(block_, rows.count - at), true, scratch};
    forward(block);
    if (scratch.called_off()) return sum;
    sum += loss(block);
    backward(block, gradient);
  }
  return sum;
}

double PlaceNetwork::evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace& workspace) const {
  Scratch& scratch = static_cast<Scratch&>(workspace);
  if (rows.count == 0) return 0;
  weights = rounded(weights, scratch);
  make_room(std::min(block_, rows.count), false, scratch);
  const Shape& out = architecture_.layers.back().out;
  double sum = 0;
  for (std::size_t at = 0; at < rows.count; at += block_) {
    const Block block{weights, rows, at, std::min(block_, rows.count - at), false, scratch};
    forward(block);
    if (scratch.called_off()) return sum;
    sum += kernels_.softmax_evaluate(block.samples * out.places(), out.channels, scratch.outputs.back().data(),
                                     rows.labels + at * out.places(), &correct);
  }
  return sum / static_cast<double>(out.places());
}

}  // namespace straggler
