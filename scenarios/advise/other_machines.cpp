// List C: other machines.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "scenarios/advise/remedy.hpp"

namespace straggler {

namespace {

/// Every host's link, and the servers'.
std::vector<std::string> wider_links(const ClusterSpec& cluster, double factor) {
  std::vector<std::string> sets = link_sets("cluster.network.link", cluster.network.link, factor);
  const auto add = [&](const std::string& path, const std::optional<LinkSpec>& link) {
    if (link) std::ranges::copy(link_sets(path, *link, factor), std::back_inserter(sets));
  };
  for (std::size_t g = 0; g < cluster.workers.size(); ++g) add(group_path(g) + ".link", cluster.workers[g].link);
  add("cluster.servers.link", cluster.servers.link);
  return sets;
}

Attempts link(const AdvisedJob& job) {
  if (std::string why = why_no_messages(job); !why.empty()) return left_out(std::move(why));
  Attempts out;
  for (const int factor : {2, 4}) out.all.push_back({fmt::format("x{}", factor), wider_links(job.scenario.cluster, factor)});
  return out;
}

std::string why_not_others(const AdvisedJob& job) {
  return job.facts && !job.facts->exchange ? why_no_messages(job)
                                           : "times of all-reduces are measured, and say nothing of another number of workers";
}

Attempts more_workers(const AdvisedJob& job) {
  Attempt attempt{fmt::format("{} workers", 2 * job.scenario.workers())};
  for (std::size_t g = 0; g < job.scenario.cluster.workers.size(); ++g)
    attempt.sets.push_back(fmt::format("{}.count={}", group_path(g), 2 * job.scenario.cluster.workers[g].count));
  if (has_given_times(job)) return left_out(why_not_others(job));
  if (job.facts && job.facts->ranks == 1 && job.scenario.workers() == 1) return left_out("what the ranks exchange is not in the files");
  return {{std::move(attempt)}};
}

Attempts fewer_workers(const AdvisedJob& job) {
  const std::vector<WorkerGroup>& groups = job.scenario.cluster.workers;
  if (job.scenario.workers() < 2) return left_out("there is one worker");
  if (has_given_times(job)) return left_out(why_not_others(job));
  if (std::ranges::any_of(groups, [](const WorkerGroup& group) { return group.count % 2 != 0; }))
    return left_out("a group with an odd number of workers has no half");
  Attempt attempt{fmt::format("{} workers", job.scenario.workers() / 2)};
  for (std::size_t g = 0; g < groups.size(); ++g) attempt.sets.push_back(fmt::format("{}.count={}", group_path(g), groups[g].count / 2));
  return {{std::move(attempt)}};
}

}  // namespace

std::vector<Remedy> other_machine_remedies() {
  constexpr RemedyList list = RemedyList::other_machines;
  return {{list, "link", "the same", true, link},
          {list, "more_workers", "a larger global batch, unless it is fixed", false, more_workers},
          {list, "fewer_workers", "a smaller global batch, unless it is fixed", false, fewer_workers}};
}

}  // namespace straggler
