// Schedules of collectives on the run's network, and what each member sends.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/collectives/fluid.hpp"
#include "sim/simulated/world.hpp"

namespace straggler {

/// A piece of that size over those ranks.
struct CollectivePlan {
  CollectiveKind operation = CollectiveKind::all_reduce;
  std::uint64_t bytes = 0;            // of the whole vector, all blocks together
  std::vector<std::uint64_t> blocks;  // [members]; empty: equal ones
  std::vector<std::uint32_t> ranks;   // of the fabric, by rank in the schedule
  std::unique_ptr<CollectiveSchedule> schedule;
  FluidPlan fluid;                                    // empty with stepwise
  std::vector<std::uint64_t> sent, received;          // [members]
  std::uint64_t sent_by_servers = 0, to_servers = 0;  // all servers together
  std::uint64_t all = 0;                              // sent by everybody
};

/// Keeps all plans: the same sizes over the same members recur.
class CollectivePlans {
 public:
  /// `cores`: that handle the messages of all ranks; null: each rank has its own. Both outlive this.
  CollectivePlans(World& world, CorePool* cores);
  /// `bytes`: of the first member's payload; `blocks`: [members] of an all-gather, what each brings; empty: it is none.
  const CollectivePlan& plan(CollectiveKind operation, std::uint64_t bytes, std::vector<std::uint64_t> blocks,
                             const std::vector<Rank>& members);
  const CollectiveCosts& costs() const { return costs_; }

 private:
  /// Of the fabric, by rank in the schedule: the members, then the servers.
  std::vector<std::uint32_t> ranks_of(const std::vector<Rank>& members) const;
  CollectiveShape shape_of(const CollectivePlan& plan, const std::vector<Rank>& members) const;
  const CollectiveEntry& algorithm_for(const CollectivePlan& plan, const CollectiveShape& shape);

  World& world_;
  CollectiveCosts costs_;
  std::vector<std::unique_ptr<CollectivePlan>> plans_;
};

}  // namespace straggler
