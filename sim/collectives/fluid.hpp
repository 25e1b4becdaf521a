// A whole collective as one flow.
#pragma once
#include <span>
#include <vector>

#include "sim/cluster/transport.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/costs.hpp"
#include "sim/engine/time.hpp"
#include "sim/network/network.hpp"

namespace straggler {

/// Starts at the last arrival; `latency` passes, then one flow, then `arithmetic`.
///
/// The flow's bytes are those of the critical path: round after round, the slowest of the round's messages, given the other messages on its
/// links. On a link it has the algorithm's volume there, relative to these bytes, which is also the average number of flows there in the
/// stepwise form; its rate never exceeds that of the critical path alone.
struct FluidPlan {
  Time latency, arithmetic;
  double bytes = 0;
  double most_bytes_per_second = 0;
  std::vector<LinkId> links;
  std::vector<double> volumes;  // [links]; empty: 1 everywhere
  double weight = 1;            // of a message of the critical path
  bool capped = false;          // the links alone do not keep it to most_bytes_per_second
  /// Seconds without contention.
  double seconds() const;
  /// The flow, latency in front.
  FlowRequest flow() const;
};

/// `ranks`: of the fabric, by rank in the schedule; empty: the same. O(hops of all messages of one round of each stretch). Transport gives
/// routes, latencies and protocol. Messages of one round that wait for each other at a processor (costs.handles()) are taken not to
/// overlap with their flows.
FluidPlan fluid_plan(const CollectiveSchedule& schedule, const CollectiveCosts& costs, Transport& transport,
                     std::span<const std::uint32_t> ranks = {});

/// Seconds of one collective with these parameters (complete), by fluid_plan; by formula with `links` above 65,536 ranks. Infinite if it is
/// longer than a simulation can be.
double collective_seconds(const CollectiveEntry& entry, const Parameters& parameters, std::uint64_t bytes, const CollectiveShape& shape,
                          const UniformLinks& links, const CollectiveCosts& costs, Transport& transport,
                          std::span<const std::uint32_t> ranks = {});

/// The algorithm of the operation that is fastest for this size on these links, by collective_seconds. Considers those that fit the shape,
/// but no libraries; ties go to the first by name. `ranks`: as in fluid_plan.
const CollectiveEntry& cheapest_collective(std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks& links,
                                           const CollectiveCosts& costs, Transport& transport,
                                           CollectiveKind operation = CollectiveKind::all_reduce,
                                           std::span<const std::uint32_t> ranks = {});

}  // namespace straggler
