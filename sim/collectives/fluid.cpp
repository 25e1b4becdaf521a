#include "sim/collectives/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "sim/base/registry.hpp"
#include "sim/collectives/critical_path.hpp"

namespace straggler {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The chain's time is given to latency, flow and arithmetic as it has them, but a link that carries bytes meanwhile that are not
/// the chain's needs its own time for them all.
void split(const CriticalPath::Chain& chain, const CriticalPath::LinkLoad* busiest, FluidPlan& plan) {
  const double flowing = std::max(chain.flowing, busiest ? busiest->bytes / busiest->bytes_per_second : 0);
  const double latency = std::max(0.0, chain.latency - (flowing - chain.flowing));
  const double arithmetic = std::min(chain.arithmetic, std::max(0.0, chain.total() - flowing - latency));
  plan.latency = Time::from_seconds(latency);
  plan.arithmetic = Time::from_seconds(arithmetic);
  plan.bytes = chain.bytes == 0 && busiest ? busiest->bytes : chain.bytes;
  plan.most_bytes_per_second = flowing > 0 ? plan.bytes / flowing : infinity;
}

/// Without contention a link's volume does not hold the flow back.
void add_links(const std::vector<CriticalPath::LinkLoad>& loads, bool contention, FluidPlan& plan) {
  const bool even = contention && std::all_of(loads.begin(), loads.end(), [&](const CriticalPath::LinkLoad& load) {
                      return std::abs(load.bytes - plan.bytes) <= load.rounding + 1e-9 * plan.bytes;
                    });
  double narrowest = infinity;
  for (const CriticalPath::LinkLoad& load : loads) {
    plan.links.push_back(load.link);
    double volume = even ? 1 : load.bytes / plan.bytes;
    // If the chain spends no time on bytes (links so fast that rounding absorbs it), they flow as fast as the links allow.
    if (!contention && plan.most_bytes_per_second < infinity) volume = std::min(volume, load.bytes_per_second / plan.most_bytes_per_second);
    if (!even) plan.volumes.push_back(volume);
    narrowest = std::min(narrowest, load.bytes_per_second / volume);
  }
  plan.capped = plan.most_bytes_per_second < narrowest * (1 - 1e-9);
}

}  // namespace

double FluidPlan::seconds() const { return latency.seconds() + (bytes > 0 ? bytes / most_bytes_per_second : 0) + arithmetic.seconds(); }

FlowRequest FluidPlan::flow() const { return {links, volumes, bytes, latency, weight, capped ? most_bytes_per_second : infinity}; }

FluidPlan fluid_plan(const CollectiveSchedule& schedule, const CollectiveCosts& costs, Transport& transport,
                     std::span<const std::uint32_t> ranks) {
  CriticalPath path(schedule, costs, transport, ranks);
  for (const Stretch& stretch : schedule.stretches()) path.add(stretch);
  FluidPlan plan;
  if (schedule.ranks() == 0) return plan;
  const std::vector<CriticalPath::LinkLoad> loads = path.loads();
  const auto busiest = std::max_element(loads.begin(), loads.end(), [](const CriticalPath::LinkLoad& a, const CriticalPath::LinkLoad& b) {
    return a.bytes / a.bytes_per_second < b.bytes / b.bytes_per_second;
  });
  const bool contention = transport.contention();
  split(path.longest(), !contention || busiest == loads.end() ? nullptr : &*busiest, plan);
  plan.latency = plan.latency + costs.before_first_round(schedule);
  if (plan.bytes > 0) add_links(loads, contention, plan);
  if (path.weight() > 0) plan.weight = path.weight();
  return plan;
}

double collective_seconds(const CollectiveEntry& entry, const Parameters& parameters, std::uint64_t bytes, const CollectiveShape& shape,
                          const UniformLinks& links, const CollectiveCosts& costs, Transport& transport,
                          std::span<const std::uint32_t> ranks) {
  constexpr std::size_t planned_ranks = 65'536;
  if (shape.workers + shape.servers > planned_ranks)
    return costs.launch.seconds() + entry.seconds(static_cast<double>(bytes), shape, links, parameters);
  try {
    return fluid_plan(*entry.make(bytes, shape, links, parameters), costs, transport, ranks).seconds();
  } catch (const TimeOverflow&) {
    return infinity;
  }
}

const CollectiveEntry& cheapest_collective(std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks& links,
                                           const CollectiveCosts& costs, Transport& transport, CollectiveKind operation,
                                           std::span<const std::uint32_t> ranks) {
  const CollectiveEntry* cheapest = nullptr;
  double least = infinity;
  for (const CollectiveEntry& entry : algorithms_of(operation).entries()) {
    if (entry.library || !entry.unfit(shape).empty()) continue;
    const double seconds = collective_seconds(entry, complete(entry.parameters, {}), bytes, shape, links, costs, transport, ranks);
    if (cheapest && seconds >= least * (1 - 1e-9)) continue;  // a tie, or rounding
    cheapest = &entry;
    least = seconds;
  }
  if (!cheapest) throw std::logic_error(std::string("no ") + name_of(operation) + " is linked that runs on any shape");
  return *cheapest;
}

}  // namespace straggler
