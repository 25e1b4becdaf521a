#include "scenarios/serve/cluster_edits.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace straggler {

namespace {

/// Those between hosts.
template <class Change>
void each_link(ClusterSpec& cluster, const Change& change) {
  change(cluster.network.link);
  for (WorkerGroup& group : cluster.workers)
    if (group.link) change(*group.link);
  if (cluster.servers.link) change(*cluster.servers.link);
  if (cluster.aggregators.link) change(*cluster.aggregators.link);
}

}  // namespace

Slow slow_of(const Scenario& scenario) {
  Slow slow;
  const auto& groups = scenario.cluster.workers;
  slow.least = std::ranges::min_element(groups, {}, &WorkerGroup::slowdown)->slowdown;
  for (const WorkerGroup& group : groups) {
    if (group.slowdown > slow.least) slow.workers += group.count;
    slow.times = std::max(slow.times, group.slowdown / slow.least);
  }
  return slow;
}

void set_workers(Scenario& scenario, std::int64_t count) {
  std::vector<WorkerGroup>& groups = scenario.cluster.workers;
  const std::int64_t before = scenario.workers();
  std::vector<std::int64_t> remainders;
  std::int64_t left = count;
  for (WorkerGroup& group : groups) {
    remainders.push_back(group.count * count % before);
    group.count = group.count * count / before;
    left -= group.count;
  }
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return remainders[i]; });
  for (std::size_t i = 0; i < order.size() && left > 0; ++i, --left) ++groups[order[i]].count;
  std::erase_if(groups, [](const WorkerGroup& group) { return group.count == 0; });
  groups.front().same_host = false;
}

void set_slow_workers(Scenario& scenario, std::int64_t slow, double times) {
  const double least = slow_of(scenario).least;
  std::int64_t fast = scenario.workers() - slow;
  const std::vector<std::int64_t> taken = scenario.cluster.seats_taken();
  std::vector<WorkerGroup> groups;
  for (std::size_t g = 0; g < taken.size(); ++g) {
    WorkerGroup group = scenario.cluster.workers[g];
    const std::int64_t here = std::clamp<std::int64_t>(fast, 0, group.count), rest = group.count - here;
    fast -= here;
    if (here > 0) {
      group.count = here;
      group.slowdown = least;
      groups.push_back(group);
      group.same_host = (taken[g] + here) % group.per_host != 0;  // of the rest
    }
    if (rest == 0) continue;
    group.count = rest;
    group.slowdown = least * times;
    groups.push_back(std::move(group));
  }
  scenario.cluster.workers = std::move(groups);
}

void set_bandwidth(Scenario& scenario, double bandwidth) {
  const double factor = bandwidth / scenario.cluster.network.link.up;
  each_link(scenario.cluster, [&](LinkSpec& link) {
    link.up *= factor;
    link.down *= factor;
    if (link.peak) *link.peak *= factor;
  });
}

void set_latency(Scenario& scenario, double latency) {
  const double own = scenario.cluster.network.link.latency;
  each_link(scenario.cluster, [&](LinkSpec& link) { link.latency = own > 0 ? link.latency * latency / own : latency; });
}

}  // namespace straggler
