#include "scenarios/schema/worker_names.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

#include "sim/base/quantity.hpp"

namespace straggler {
namespace {

/// The group whose value most workers have; of equals the first.
template <class ValueOf>
std::size_t commonest(const std::vector<WorkerGroup>& groups, ValueOf value) {
  struct Having {
    std::size_t first;
    std::int64_t workers = 0;
  };
  std::map<decltype(value(groups.front())), Having> having;
  for (std::size_t g = 0; g < groups.size(); ++g) having.try_emplace(value(groups[g]), Having{g}).first->second.workers += groups[g].count;
  const auto most =
      std::ranges::max_element(having, {}, [](const auto& each) { return std::pair(each.second.workers, ~each.second.first); });
  return most == having.end() ? 0 : most->second.first;
}

const LinkSpec& link_of(const WorkerGroup& group, const LinkSpec& network_link) { return group.link ? *group.link : network_link; }

std::array<double, 3> link_figures(const LinkSpec& link) { return {link.up, link.down, link.latency}; }

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

std::string in_brackets(const std::string& text) { return text.empty() ? text : " (" + text + ")"; }

}  // namespace

WorkerNames::WorkerNames(const Scenario& scenario)
    : groups_(scenario.cluster.workers),
      network_link_(scenario.cluster.network.link),
      usual_slowdown_(commonest(groups_, [](const WorkerGroup& each) { return each.slowdown; })),
      usual_device_(commonest(groups_, [](const WorkerGroup& each) { return std::string_view(each.device); })),
      usual_link_(commonest(groups_, [&](const WorkerGroup& each) { return link_figures(link_of(each, network_link_)); })) {
  std::int64_t first = 0;
  for (const WorkerGroup& group : groups_) {
    first_.push_back(first);
    first += group.count;
  }
}

std::string WorkerNames::difference(std::size_t group) const {
  const WorkerGroup& own = groups_[group];
  const double slowdown = groups_[usual_slowdown_].slowdown;
  const LinkSpec &link = link_of(own, network_link_), &usual_link = link_of(groups_[usual_link_], network_link_);
  std::string text;
  const auto add = [&text](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (own.device != groups_[usual_device_].device) add(own.device);
  if (own.slowdown > slowdown) add(times(own.slowdown / slowdown) + " slower");
  if (own.slowdown < slowdown) add(times(slowdown / own.slowdown) + " faster");
  if (link_figures(link) != link_figures(usual_link)) add(link_text(link, usual_link));
  return text;
}

std::string WorkerNames::worker(std::int64_t rank) const {
  const auto group = static_cast<std::size_t>(std::ranges::upper_bound(first_, rank) - first_.begin()) - 1;
  return "worker " + std::to_string(rank) + in_brackets(difference(group));
}

std::string WorkerNames::group(std::size_t group) const {
  const std::int64_t first = first_[group], count = groups_[group].count;
  if (count == 1) return worker(first);
  return "workers " + std::to_string(first) + (count == 2 ? " and " : " to ") + std::to_string(first + count - 1) +
         in_brackets(difference(group));
}

std::string WorkerNames::groups(const std::vector<std::size_t>& all) const {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) text += (i == 0 ? "" : ", ") + group(all[i]);
  return all.size() > most ? text + " and " + std::to_string(all.size() - most) + " more groups" : text;
}

}  // namespace straggler
