// Bytes cut into one block for each rank.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/collectives/chunks.hpp"
#include "sim/collectives/collective.hpp"

namespace straggler {

class Blocks {
 public:
  /// Those of the shape, or equal chunks of the bytes.
  Blocks(std::uint64_t bytes, const CollectiveShape& shape) : chunks_(bytes, shape.workers) {
    if (shape.blocks.empty()) return;
    edges_.push_back(0);
    for (const std::uint64_t block : shape.blocks) edges_.push_back(edges_.back() + block);
    const auto [least, most] = std::minmax_element(shape.blocks.begin(), shape.blocks.end());
    alike_ = *most - *least <= 1;
  }
  std::size_t count() const { return chunks_.count(); }
  /// To within the rounding of a chunk.
  bool alike() const { return alike_; }
  std::uint64_t all() const { return edge(count()); }
  std::uint64_t size(std::size_t rank) const { return edges_.empty() ? chunks_.size(rank) : edges_[rank + 1] - edges_[rank]; }
  /// Of `ranks` blocks from that one on; the first follows the last. At most all.
  std::uint64_t size(std::size_t first, std::size_t ranks) const {
    const std::size_t end = first + ranks;
    return end <= count() ? edge(end) - edge(first) : all() - edge(first) + edge(end - count());
  }

 private:
  std::uint64_t edge(std::size_t rank) const { return edges_.empty() ? chunks_.edge(rank) : edges_[rank]; }
  Chunks chunks_;
  std::vector<std::uint64_t> edges_;  // [ranks + 1]; empty: of chunks_
  bool alike_ = true;
};

}  // namespace straggler
