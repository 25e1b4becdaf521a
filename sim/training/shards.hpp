// What a worker moves whose states are shared (TrainingPlan::sharding): weights that it gathers, gradients that it reduces.
#pragma once
#include <cstddef>
#include <cstdint>

#include "sim/training/node.hpp"

namespace straggler {

/// Bytes that a worker sends in an update, by collectives in which each sends what the others keep: all but its own part.
struct ShardTraffic {
  double gathered = 0, reduced = 0;
  double between_hosts = 0;  // by all-reduces of shards, as a ring
};
ShardTraffic shard_traffic(const TrainingPlan& plan);

/// Collectives of the shard group, one at a time, in the order in which they are issued: every worker issues the same ones. Each piece is
/// padded to a multiple of the group's workers.
class Shards {
 public:
  /// The node outlives it.
  explicit Shards(Node& node);

  const Sharding& sharding() const { return node_.plan().sharding; }
  std::size_t buckets() const { return std::max<std::size_t>(node_.plan().buckets.size(), 1); }
  /// All-gathers the weights of a bucket, for forward or for backward.
  Pending<ShardOperation> gather(std::size_t bucket, bool backward = false);
  /// Reduce-scatters the gradient of a bucket; in a shard group that is a host, the shards are then all-reduced between hosts.
  Pending<ShardOperation> reduce(std::size_t bucket);
  /// All-reduces so many bytes of numbers that a step needs of all shards.
  Pending<ShardOperation> reduce_numbers(std::uint64_t bytes);

  /// This worker's gradient of the update goes into the mean. Takes no time: `reduce` moves it. Once an update.
  void bring(const Gradient& mine);
  /// The mean of all workers' gradients. Requires: all of the update's reductions are complete here.
  Gradient mean();

 private:
  Node& node_;
  RankGroup group_, host_, between_hosts_;  // null: of all workers; between_hosts_ null: shards need no other hosts
  Handle brought_;
};

}  // namespace straggler
