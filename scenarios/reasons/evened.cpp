#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/cluster_facts.hpp"
#include "scenarios/reasons/slowdowns.hpp"

namespace straggler {

namespace {

/// A group of the scenario, or a part of one.
struct GroupPart {
  WorkerGroup group;
  std::size_t of = 0;  // the group
  bool kept = false;
};

/// Workers [from, from + count) of a group, on the hosts on which they were.
GroupPart part_of(const WorkerGroup& group, std::size_t number, std::int64_t taken, std::int64_t from, std::int64_t count, bool kept) {
  GroupPart part{group, number, kept};
  part.group.count = count;
  if (from > 0) part.group.same_host = (taken + from) % group.per_host != 0;
  if (!group.rows.empty())
    std::rotate(part.group.rows.begin(), part.group.rows.begin() + from % static_cast<std::int64_t>(group.rows.size()),
                part.group.rows.end());
  return part;
}

/// Each kept worker in a part of its own.
std::vector<GroupPart> parts_of(const ClusterSpec& cluster, const std::vector<Rank>& kept) {
  std::vector<GroupPart> parts;
  const std::vector<std::int64_t> taken = cluster.seats_taken();
  std::int64_t first = 0;
  for (std::size_t g = 0; g < cluster.workers.size(); ++g) {
    const WorkerGroup& group = cluster.workers[g];
    std::int64_t at = 0;
    const auto to = [&](std::int64_t end, bool keep) {
      if (end > at) parts.push_back(part_of(group, g, taken[g], at, end - at, keep));
      at = end;
    };
    for (const Rank rank : kept) {
      const std::int64_t place = static_cast<std::int64_t>(rank) - first;
      if (place < 0 || place >= group.count) continue;
      to(place, false);
      to(place + 1, true);
    }
    to(group.count, false);
    first += group.count;
  }
  return parts;
}

bool has(const std::vector<WorkKind>& kinds, WorkKind kind) { return std::ranges::find(kinds, kind) != kinds.end(); }

/// Whether the fault makes work uneven that is to be even.
bool goes(const FaultSpec& fault, const Uneven& kept) {
  const bool of_kept = fault.worker >= 0 && std::ranges::binary_search(kept.workers, static_cast<Rank>(fault.worker));
  if (of_kept) return false;
  if (slows_workers(fault)) return !has(kept.kinds, WorkKind::computing);
  return changes_links(fault) && fault.kind != FaultSpec::Kind::trace && !has(kept.kinds, WorkKind::communicating);
}

}  // namespace

Scenario evened(const Scenario& scenario, const Blueprint& blueprint, double batch_seconds, const Uneven& kept) {
  const Seat median = median_worker(scenario, blueprint);
  const WorkerGroup& like = scenario.cluster.workers[median.group];
  const DeviceSpec& device = scenario.devices.at(like.device);
  const LinkSpec link = link_of(scenario.cluster, like, median.number);
  Scenario out = scenario;
  out.cluster.workers.clear();
  for (GroupPart& part : parts_of(scenario.cluster, kept.workers)) {
    WorkerGroup& group = part.group;
    if (!part.kept) {
      const std::string name = group.device + ", even";
      DeviceSpec& even = out.devices.emplace(name, scenario.devices.at(group.device)).first->second;
      group.device = name;
      if (!has(kept.kinds, WorkKind::computing)) {
        even.jitter = Kind{"none", {}};
        even.memory_traffic = device.memory_traffic;
        even.update = device.update;
        even.compress = device.compress;
        const std::int64_t batch = blueprint.plan.batches.usual(blueprint.first_of_group[part.of]);
        const double own = seconds_of(*blueprint.group_times[part.of], batch, blueprint.plan.accumulate);
        if (own > 0) group.slowdown = batch_seconds / own;
        for (DeviceRow& row : group.rows) {
          row.slowdown = 1;
          row.overhead.reset();
          row.per_sample.reset();
        }
      }
      if (!has(kept.kinds, WorkKind::loading)) {
        even.loader = device.loader;
        even.host_to_device = device.host_to_device;
      }
      if (!has(kept.kinds, WorkKind::communicating)) {
        group.link = link;
        for (DeviceRow& row : group.rows) row.link.reset();
      }
    }
    out.cluster.workers.push_back(std::move(group));
  }
  std::erase_if(out.cluster.faults, [&](const FaultSpec& fault) { return goes(fault, kept); });
  return out;
}

}  // namespace straggler
