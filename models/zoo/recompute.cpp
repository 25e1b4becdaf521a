#include "models/zoo/recompute.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "models/zoo/cost_model.hpp"

namespace straggler {
namespace {

/// Bytes of figures in fp32, with `width` of a number's bytes there, and of masks.
double bytes_of(double in_fp32, double masks, double width) { return width * in_fp32 + masks; }

double layer_bytes(const CostLayer& layer, double width) { return bytes_of(layer.activation_bytes, layer.mask_bytes, width); }
double pair_bytes(const CostLayer& layer, double width) { return bytes_of(layer.pairs.activation_bytes, layer.pairs.mask_bytes, width); }

/// [layers] forward's, in which all layers count alike if none has any.
std::vector<double> forward_flops(const CostTable& table) {
  const bool none = table.forward_flops() == 0;
  std::vector<double> flops;
  for (const CostLayer& layer : table.layers) flops.push_back(none ? 1 : layer.forward_flops);
  return flops;
}

}  // namespace

std::vector<LayerRange> block_ranges(const CostTable& table) {
  std::vector<LayerRange> blocks;
  const std::vector<CostLayer>& layers = table.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].block.empty()) continue;
    if (blocks.empty() || blocks.back().end != i || layers[i].block != layers[i - 1].block) blocks.push_back({i, i});
    blocks.back().end = i + 1;
  }
  for (std::size_t i = 0; blocks.size() < layers.size() && std::ranges::all_of(layers, &std::string::empty, &CostLayer::block); ++i)
    blocks.push_back({i, i + 1});
  return blocks;
}

double kept_bytes(const CostTable& table, Recompute recompute, double number_bytes) {
  const double width = number_bytes / 4;
  double all = 0, most = 0;
  for (const CostLayer& layer : table.layers) all += layer_bytes(layer, width);
  double kept = all;
  if (recompute == Recompute::attention) {
    for (const CostLayer& layer : table.layers) {
      kept -= pair_bytes(layer, width);
      most = std::max(most, pair_bytes(layer, width));
    }
  } else if (recompute == Recompute::blocks) {
    for (const LayerRange& block : block_ranges(table)) {
      const CostLayer& first = table.layers[block.begin];
      const bool whole_layers = first.block.empty();  // what a layer reads, the one before it keeps
      const double input = whole_layers ? (block.begin == 0 ? 0 : table.layers[block.begin - 1].activation_bytes) : first.block_input;
      double own = 0;
      for (std::size_t i = block.begin; i < block.end; ++i) own += layer_bytes(table.layers[i], width);
      kept += width * input - own;
      most = std::max(most, own);
    }
  }
  return std::min(all, kept + most);  // where each layer is a block, what one makes counts twice
}

std::vector<double> recomputed_flops(const CostTable& table, Recompute recompute) {
  std::vector<double> again(table.layers.size(), 0.0);
  if (recompute == Recompute::attention)
    for (std::size_t i = 0; i < again.size(); ++i) again[i] = table.layers[i].pairs.forward_flops;
  if (recompute == Recompute::blocks) {
    const std::vector<double> flops = forward_flops(table);
    for (const LayerRange& block : block_ranges(table))
      again[block.end - 1] = std::accumulate(flops.begin() + static_cast<std::ptrdiff_t>(block.begin),
                                             flops.begin() + static_cast<std::ptrdiff_t>(block.end), 0.0);
  }
  return again;
}

double recomputed_share(const CostTable& table, Recompute recompute) {
  if (recompute == Recompute::none) return 0;
  const std::vector<double> again = recomputed_flops(table, recompute), flops = forward_flops(table);
  const double all = std::accumulate(flops.begin(), flops.end(), 0.0);
  return all > 0 ? std::min(1.0, std::accumulate(again.begin(), again.end(), 0.0) / all) : 0;
}

}  // namespace straggler
