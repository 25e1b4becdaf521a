#include "scenarios/schema/worker_names.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "sim/base/quantity.hpp"

namespace straggler {
namespace {

const LinkSpec& link_of(const Scenario& scenario, const WorkerGroup& group) {
  return group.link ? *group.link : scenario.cluster.network.link;
}

/// The group whose value most workers have; of equals the first.
template <class ValueOf>
std::size_t usual(const std::vector<WorkerGroup>& groups, ValueOf value) {
  std::size_t best = 0;
  std::int64_t most = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::int64_t workers = 0;
    for (const WorkerGroup& other : groups)
      if (value(other) == value(groups[g])) workers += other.count;
    if (workers <= most) continue;
    most = workers;
    best = g;
  }
  return best;
}

std::string times(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3gx", ratio);
  return text;
}

std::string link_text(const LinkSpec& link, const LinkSpec& usual_link) {
  if (link.up != usual_link.up || link.down != usual_link.down)
    return "link " + format_quantity(std::min(link.up, link.down), Dimension::rate);
  return "link with a latency of " + format_quantity(link.latency, Dimension::time);
}

std::int64_t first_of(const Scenario& scenario, std::size_t group) {
  std::int64_t first = 0;
  for (std::size_t g = 0; g < group; ++g) first += scenario.cluster.workers[g].count;
  return first;
}

std::string in_brackets(const std::string& text) { return text.empty() ? text : " (" + text + ")"; }

}  // namespace

std::string group_difference(const Scenario& scenario, std::size_t group) {
  const std::vector<WorkerGroup>& groups = scenario.cluster.workers;
  const WorkerGroup& own = groups[group];
  const double slowdown = groups[usual(groups, [](const WorkerGroup& each) { return each.slowdown; })].slowdown;
  const std::string& device = groups[usual(groups, [](const WorkerGroup& each) { return each.device; })].device;
  const auto link_pair = [&](const WorkerGroup& each) {
    const LinkSpec& link = link_of(scenario, each);
    return std::vector<double>{link.up, link.down, link.latency};
  };
  const WorkerGroup& usual_link = groups[usual(groups, link_pair)];
  std::string text;
  const auto add = [&text](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (own.device != device) add(own.device);
  if (own.slowdown > slowdown) add(times(own.slowdown / slowdown) + " slower");
  if (own.slowdown < slowdown) add(times(slowdown / own.slowdown) + " faster");
  if (link_pair(own) != link_pair(usual_link)) add(link_text(link_of(scenario, own), link_of(scenario, usual_link)));
  return text;
}

std::string worker_name(const Scenario& scenario, std::int64_t worker) {
  std::size_t group = 0;
  std::int64_t first = 0;
  while (group + 1 < scenario.cluster.workers.size() && worker >= first + scenario.cluster.workers[group].count)
    first += scenario.cluster.workers[group++].count;
  return "worker " + std::to_string(worker) + in_brackets(group_difference(scenario, group));
}

std::string workers_of_group(const Scenario& scenario, std::size_t group) {
  const std::int64_t first = first_of(scenario, group), count = scenario.cluster.workers[group].count;
  if (count == 1) return worker_name(scenario, first);
  return "workers " + std::to_string(first) + (count == 2 ? " and " : " to ") + std::to_string(first + count - 1) +
         in_brackets(group_difference(scenario, group));
}

}  // namespace straggler
