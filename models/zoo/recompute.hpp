// What backward keeps of the forward pass, and what it computes again instead (Korthikanti et al., Reducing Activation Recomputation in
// Large Transformer Models, MLSys 2023, arXiv 2205.05198).
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace straggler {

struct CostLayer;
struct CostTable;

/// Nothing; in attention the products of all pairs of places; or each block, of which its input is kept.
enum class Recompute { none, attention, blocks };

/// Consecutive layers of a table, by index.
struct LayerRange {
  std::size_t begin = 0, end = 0;
};
/// The blocks of a network, in forward order: its layers of the same CostLayer::block. Without any, each layer is one.
std::vector<LayerRange> block_ranges(const CostTable& table);

/// Bytes that a device holds of one sample from forward to backward, the network's input aside, where a number has `number_bytes`.
///  - none: what backward reads of all layers;
///  - attention: without the products of pairs but those of the layer that has most, which are there while it is computed again;
///  - blocks: of each block its input; what backward reads of the layers outside, and of the block that has most.
double kept_bytes(const CostTable& table, Recompute recompute, double number_bytes);

/// [layers] FLOPs of one sample that backward computes again: of a block at its last layer, which backward reaches first.
std::vector<double> recomputed_flops(const CostTable& table, Recompute recompute);
/// Of forward's FLOPs. Of a table without any, layers count alike.
double recomputed_share(const CostTable& table, Recompute recompute);

}  // namespace straggler
