#include "scenarios/advise/remedy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "scenarios/experiment/measured_collective.hpp"
#include "sim/base/quantity.hpp"

namespace straggler {

const char* letter_of(RemedyList list) { return list == RemedyList::same_learning ? "A" : list == RemedyList::other_learning ? "B" : "C"; }

const std::vector<Remedy>& remedies() {
  static const std::vector<Remedy> all = [] {
    std::vector<Remedy> rows = same_learning_remedies();
    rows.push_back(checkpoint_interval_remedy());
    std::ranges::copy(other_learning_remedies(), std::back_inserter(rows));
    std::ranges::copy(other_machine_remedies(), std::back_inserter(rows));
    rows.push_back(spares_remedy());
    return rows;
  }();
  return all;
}

std::vector<std::string> remedy_names() {
  std::vector<std::string> names;
  for (const Remedy& remedy : remedies()) names.emplace_back(remedy.name);
  return names;
}

bool has_given_times(const AdvisedJob& job) {
  return job.scenario.workers() > 1 && job.blueprint.all_reduce && job.scenario.cluster.network.collective.algorithm == measured_algorithm;
}

std::string why_no_messages(const AdvisedJob& job) {
  if (job.scenario.workers() < 2) return "one worker sends nothing";
  if (!has_given_times(job)) return {};
  return job.facts && !job.facts->exchange ? "what the ranks exchange is not in the files" : measured_words();
}

std::string why_no_all_reduce(const AdvisedJob& job) {
  if (std::string why = why_no_messages(job); !why.empty()) return why;
  return job.blueprint.all_reduce ? std::string() : job.scenario.training.scheme.name + " has no all-reduce here";
}

std::string group_path(std::size_t group) { return fmt::format("cluster.workers[{}]", group); }

std::vector<std::string> link_sets(const std::string& path, const LinkSpec& link, double factor) {
  const auto rate = [factor](double value) { return format_quantity(value * factor, Dimension::rate); };
  if (link.up == link.down) return {fmt::format("{}.bandwidth={}", path, rate(link.up))};
  return {fmt::format("{}.up={}", path, rate(link.up)), fmt::format("{}.down={}", path, rate(link.down))};
}

std::vector<std::string> like_link(const std::string& path, const LinkSpec& link) {
  std::vector<std::string> sets = link_sets(path, link, 1);
  sets.push_back(fmt::format("{}.latency={}", path, format_quantity(link.latency, Dimension::time)));
  return sets;
}

bool as_wide(const LinkSpec& link, const LinkSpec& other) { return link.up >= other.up && link.down >= other.down; }

void add_server(const AdvisedJob& job, std::vector<std::string>& sets) {
  if (job.scenario.cluster.servers.count == 0) sets.emplace_back("cluster.servers.count=1");
}

}  // namespace straggler
