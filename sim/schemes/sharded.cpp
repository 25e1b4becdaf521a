#include "sim/schemes/sharded.hpp"

#include <deque>
#include <utility>

namespace straggler::schemes {
namespace {

/// Collectives in flight, in the order in which they complete.
using Moving = std::deque<Pending<ShardOperation>>;

Task<void> next_moved(Moving& moving) {
  Pending<ShardOperation> first = std::move(moving.front());
  moving.pop_front();
  co_await first;
}

Task<void> all_moved(Moving& moving) {
  while (!moving.empty()) co_await next_moved(moving);
}

/// One micro-batch of an update. A smaller batch may have fewer of them than other workers' batches: then its worker computes nothing, and
/// takes part in the collectives.
struct MicroBatch {
  bool first, last, computed;
};
bool reduces_after(const MicroBatch& micro, const Sharding& sharding) {
  return micro.last || (sharding.stage > 1 && sharding.reduces_each);
}

/// Computes a micro-batch whose weights are there, and reduces its gradient bucket by bucket.
Task<void> computed_whole(Node& node, Shards& shards, Work& work, MicroBatch micro, Moving& reducing) {
  const bool reduces = reduces_after(micro, shards.sharding()), overlaps = reduces && shards.sharding().overlaps;
  if (micro.computed) co_await work.forward(shards.buckets() - 1);
  if (micro.computed && !overlaps) co_await work.backward(0);
  if (!reduces) co_return;
  for (std::size_t bucket = shards.buckets(); bucket-- > 0;) {
    if (micro.computed && overlaps) co_await work.backward(bucket);
    reducing.push_back(node.begin(shards.reduce(bucket)));
  }
}

/// Uses of units in a micro-batch: forward from the first to the last, backward from the last to the first.
class UnitUses {
 public:
  UnitUses(std::size_t units, bool gathers_forward, bool gathers_backward)
      : units_(units), gathers_forward_(gathers_forward), gathers_backward_(gathers_backward) {}
  std::size_t count() const { return 2 * units_; }
  bool is_backward(std::size_t use) const { return use >= units_; }
  std::size_t unit(std::size_t use) const { return is_backward(use) ? 2 * units_ - 1 - use : use; }
  /// Backward begins with the unit that forward ended with, whose weights are still there.
  bool gathers(std::size_t use) const { return is_backward(use) ? gathers_backward_ && use > units_ : gathers_forward_; }

 private:
  std::size_t units_;
  bool gathers_forward_, gathers_backward_;
};

/// Computes a micro-batch whose weights are gathered unit by unit.
Task<void> computed_by_units(Node& node, Shards& shards, Work& work, MicroBatch micro, Moving& reducing) {
  const Sharding& sharding = shards.sharding();
  const UnitUses uses(shards.buckets(), micro.first || !sharding.keeps_gathered, !sharding.keeps_gathered);
  const bool reduces = reduces_after(micro, sharding);
  Moving gathering;
  std::size_t issued = 0;
  const auto issue_until = [&](std::size_t use) {
    for (; issued <= use && issued < uses.count(); ++issued)
      if (uses.gathers(issued)) gathering.push_back(node.begin(shards.gather(uses.unit(issued), uses.is_backward(issued))));
  };
  for (std::size_t use = 0; use < uses.count(); ++use) {
    issue_until(use);
    if (uses.gathers(use)) co_await next_moved(gathering);
    issue_until(use + static_cast<std::size_t>(sharding.prefetch));
    const std::size_t unit = uses.unit(use);
    if (!uses.is_backward(use)) {
      if (micro.computed) co_await work.forward(unit);
      continue;
    }
    if (micro.computed) co_await work.backward(unit);
    if (reduces) reducing.push_back(node.begin(shards.reduce(unit)));
  }
}

/// The mean of all workers' gradients: what of it this worker's step needs is there, and with stage 3 nothing else.
Task<Gradient> averaged_gradient(Node& node, Shards& shards, const Weights& weights, DrawnBatch batch) {
  Work work = node.work(weights, batch);
  Moving reducing;
  const std::int64_t count = node.plan().accumulate;
  for (std::int64_t number = 0; number < count; ++number) {
    const MicroBatch micro{number == 0, number + 1 == count, number < work.micro_batches()};
    if (shards.sharding().stage == 3)
      co_await computed_by_units(node, shards, work, micro, reducing);
    else
      co_await computed_whole(node, shards, work, micro, reducing);
    if (micro.last) shards.bring(work.gradient());  // before any reduction of the last bucket is over
    if (shards.sharding().stage < 3 && !shards.sharding().overlaps) co_await all_moved(reducing);
  }
  co_await all_moved(reducing);
  co_return shards.mean();
}

Task<void> gather_weights(Node& node, Shards& shards) {
  Moving gathering;
  for (std::size_t bucket = 0; bucket < shards.buckets(); ++bucket) gathering.push_back(node.begin(shards.gather(bucket)));
  co_await all_moved(gathering);
}

}  // namespace

Process sharded_ssgd(Node& node) {
  Shards shards(node);
  Weights weights = node.initial_weights();
  for (;;) {
    const DrawnBatch batch = node.next_batch(node.batch_size());
    const Gradient mean = co_await averaged_gradient(node, shards, weights, batch);
    for (const std::uint64_t bytes : shards.sharding().numbers_of_step) co_await shards.reduce_numbers(bytes);
    weights = co_await node.step(weights, mean);
    if (shards.sharding().stage < 3) co_await gather_weights(node, shards);
    weights = co_await node.publish(weights);
  }
}

}  // namespace straggler::schemes
