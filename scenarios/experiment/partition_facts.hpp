// Figures of a partition for `straggler check`.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "models/data/partition.hpp"

namespace straggler {

/// How much the labels of workers' parts differ from those of all training samples.
struct LabelSkew {
  std::size_t fewest_classes = 0, most_classes = 0;  // in a part
  double mean_classes = 0;
  double mean_largest = 0, most_largest = 0;  // share of a part that its most frequent label has
  /// Total variation distance ½ Σ_c |p_part(c) - p_all(c)|, mean over parts: 0 where all have the labels of the whole, `one_class` where
  /// each has a single class: Σ_c p_all(c) (1 - p_all(c)).
  double mean_distance = 0, one_class = 0;
};

/// Of a partition with a part for each worker; `labels`: of the training samples, 0 .. classes - 1. Nothing for one pool for all.
std::optional<LabelSkew> label_skew(const Partition& partition, std::span<const std::int32_t> labels, std::size_t classes);

struct PartitionFacts {
  bool pool = false;  // all workers draw from one
  std::size_t parts = 0;
  std::uint64_t smallest = 0, largest = 0;  // samples of a part; of the pool
  std::optional<LabelSkew> labels;          // none: not determined, or the parts are random
};

}  // namespace straggler
