#include "models/zoo/cost_model.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "models/zoo/architecture.hpp"

namespace straggler {
namespace {

constexpr double float_bytes = sizeof(float);

/// The outputs that the backward pass reads. A view is its input, so it passes the need on.
std::vector<bool> kept_outputs(const std::vector<LayerSpec>& layers) {
  std::vector<bool> kept(layers.size(), false);
  if (!layers.empty()) kept.back() = true;
  for (std::size_t i = layers.size(); i-- > 0;) {
    const LayerEntry& entry = *layers[i].entry;
    if (entry.backward_reads_output) kept[i] = true;
    const bool passes_on = entry.view && kept[i];
    if (passes_on) kept[i] = false;
    if (!passes_on && !entry.backward_reads_inputs) continue;
    for (const LayerIndex input : layers[i].inputs)
      if (input != network_input) kept[input] = true;
  }
  return kept;
}

/// [layers] whether its output is a number for each pair of places.
std::vector<bool> pair_outputs(const std::vector<LayerSpec>& layers) {
  std::vector<bool> pairs(layers.size(), false);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerSpec& layer = layers[i];
    const bool passes = !layer.entry->pair_multiply_adds && layer.inputs.size() == 1 && layer.inputs[0] != network_input;
    pairs[i] = layer.entry->makes_pairs || (passes && pairs[layer.inputs[0]]);
  }
  return pairs;
}

/// Bytes of a sample that backward reads whatever the precision: a byte for each number that dropout drops or keeps, and PyTorch's eight
/// for the place of a maximum.
double mask_bytes(const LayerSpec& layer) {
  if (layer.entry->kept_indices) return 8 * static_cast<double>(layer.entry->kept_indices(layer));
  return layer.entry->draws && layer.entry->draws(layer) ? static_cast<double>(layer.out.size()) : 0;
}

/// Adds CostLayer::block_input to the rows. `row_of`: [layers].
void add_block_inputs(const Architecture& architecture, const std::vector<bool>& kept, const std::vector<std::size_t>& row_of,
                      CostTable& table) {
  std::string_view block;
  std::size_t first_row = 0;
  std::vector<LayerIndex> counted;
  for (std::size_t i = 0; i < architecture.layers.size(); ++i) {
    const LayerSpec& layer = architecture.layers[i];
    if (layer.block.empty()) continue;
    if (layer.block != block) {
      block = layer.block;
      first_row = row_of[i];
      counted.clear();
    }
    for (LayerIndex from : layer.inputs) {
      while (from != network_input && architecture.layers[from].entry->view) from = architecture.layers[from].inputs.front();
      if (from == network_input || architecture.layers[from].block == block || std::ranges::count(counted, from) > 0) continue;
      counted.push_back(from);
      const LayerSpec& source = architecture.layers[from];
      if (!source.block.empty() || !kept[from]) table.layers[first_row].block_input += float_bytes * static_cast<double>(source.out.size());
    }
  }
}

/// The tensors of the next layer, which has `parameters` of them, in order from tensors[next] on.
std::vector<TensorInfo> take(const std::vector<TensorInfo>& tensors, std::size_t& next, const LayerCost& layer) {
  std::vector<TensorInfo> taken;
  std::size_t count = 0;
  for (; count < layer.parameters && next < tensors.size(); ++next) {
    count += elements(tensors[next].shape);
    taken.push_back(tensors[next]);
  }
  if (count != layer.parameters)
    throw std::logic_error("the tensors of a model do not add up to the parameters of its layer '" + layer.name + "'");
  return taken;
}

}  // namespace

std::size_t elements(const std::vector<std::size_t>& shape) {
  std::size_t count = 1;
  for (const std::size_t width : shape) count *= width;
  return count;
}

std::size_t CostLayer::parameters() const {
  std::size_t count = 0;
  for (const TensorInfo& tensor : tensors) count += elements(tensor.shape);
  return count;
}

bool CostLayer::dense() const {
  return !convolution && std::ranges::none_of(tensors, [](const TensorInfo& tensor) { return tensor.shape.size() > 2; });
}

std::size_t CostTable::parameters() const {
  std::size_t count = 0;
  for (const CostLayer& layer : layers) count += layer.parameters();
  return count;
}

std::vector<TensorInfo> CostTable::tensors() const {
  std::vector<TensorInfo> all;
  for (const CostLayer& layer : layers) all.insert(all.end(), layer.tensors.begin(), layer.tensors.end());
  return all;
}

double CostTable::forward_flops() const {
  double flops = 0;
  for (const CostLayer& layer : layers) flops += layer.forward_flops;
  return flops;
}

double CostTable::activation_bytes() const {
  double bytes = 0;
  for (const CostLayer& layer : layers) bytes += layer.activation_bytes;
  return bytes;
}

std::size_t CostTable::operations() const {
  std::size_t count = 0;
  for (const CostLayer& layer : layers) count += layer.operations;
  return count;
}

CostTable cost_table(const Model& model) {
  CostTable table;
  table.statistics = model.statistics();
  table.notes = model.assumed();
  table.knows_activations = table.notes.empty();
  const std::vector<TensorInfo> tensors = model.tensors();
  std::size_t next = 0;
  for (const LayerCost& layer : model.cost())
    table.layers.push_back({layer.name, layer.forward_flops, layer.activation_bytes, take(tensors, next, layer), layer.operations});
  if (next != tensors.size()) throw std::logic_error("the tensor '" + tensors[next].name + "' of a model belongs to no layer of its costs");
  if (!model.architecture()) return table;
  const CostTable whole = cost_table(*model.architecture());  // with what LayerCost lacks
  for (std::size_t i = 0; i < std::min(table.layers.size(), whole.layers.size()); ++i) {
    CostLayer& row = table.layers[i];
    const CostLayer& more = whole.layers[i];
    row.mask_bytes = more.mask_bytes;
    row.pairs = more.pairs;
    row.block = more.block;
    row.block_input = more.block_input;
  }
  return table;
}

CostTable cost_table(const Architecture& architecture) {
  CostTable table;
  table.input_bytes = float_bytes * static_cast<double>(architecture.input.size());
  const std::vector<bool> kept = kept_outputs(architecture.layers), of_pairs = pair_outputs(architecture.layers);
  const auto scores =
      std::find_if(architecture.layers.rbegin(), architecture.layers.rend(), [](const LayerSpec& layer) { return layer.entry->scores; });
  std::vector<std::size_t> row_of;
  std::size_t offset = 0;
  for (std::size_t i = 0; i < architecture.layers.size(); ++i) {
    const LayerSpec& layer = architecture.layers[i];
    const double flops = layer.entry->multiply_adds ? 2 * layer.entry->multiply_adds(layer) : 0;
    if (flops > 0 || !layer.tensors.empty() || table.layers.empty()) {
      table.layers.push_back({layer.name, flops, 0, {}, 0});
      table.layers.back().block = layer.block;
    }
    CostLayer& row = table.layers.back();
    row_of.push_back(table.layers.size() - 1);
    row.operations += layer.entry->operations;
    if (layer.entry->inner_activations) row.activation_bytes += float_bytes * static_cast<double>(layer.entry->inner_activations(layer));
    for (const TensorSpec& buffer : layer.buffers) table.statistics += elements(buffer.shape);
    const double output = kept[i] ? float_bytes * static_cast<double>(layer.out.size()) : 0, masks = mask_bytes(layer);
    row.activation_bytes += output;
    row.mask_bytes += masks;
    if (layer.entry->pair_multiply_adds) row.pairs.forward_flops += 2 * layer.entry->pair_multiply_adds(layer);
    if (layer.entry->pair_activations)
      row.pairs.activation_bytes += float_bytes * static_cast<double>(layer.entry->pair_activations(layer));
    if (of_pairs[i]) {
      row.pairs.activation_bytes += output;
      row.pairs.mask_bytes += masks;
    }
    const bool is_output = scores != architecture.layers.rend() && &layer == &*scores;
    for (const TensorSpec& tensor : layer.tensors) {
      row.tensors.push_back({tensor.name, tensor.shape, offset, is_output ? std::vector<std::size_t>() : tensor.matrices});
      offset += elements(tensor.shape);
    }
  }
  add_block_inputs(architecture, kept, row_of, table);
  return table;
}

CostTable cost_table(const ModelEntry& entry, Parameters given) {
  const Parameters parameters = complete(entry.cost_parameters, std::move(given));
  return entry.cost_network ? cost_table(entry.cost_network(parameters)) : entry.cost_table(parameters);
}

TrainingCost training_cost(const CostTable& table) {
  double dense = 0;
  for (const CostLayer& layer : table.layers)
    if (layer.dense()) dense += layer.forward_flops;
  return {3 * table.forward_flops(), 3 * float_bytes * static_cast<double>(table.parameters()), 3 * table.activation_bytes(), 3 * dense};
}

}  // namespace straggler
