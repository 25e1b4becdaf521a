#include "scenarios/results/waited_for.hpp"

#include "scenarios/schema/worker_names.hpp"

namespace straggler {

void IdleOfGroups::add(std::size_t group, double idle, double computed, double wasted, double total) {
  if (total <= 0) return;
  Sums& sums = groups_[group];
  sums.idle += idle / total;
  sums.computed += computed / total;
  sums.wasted += wasted / total;
  ++sums.workers;
}

std::vector<double> IdleOfGroups::shares() const {
  std::vector<double> shares;
  for (const Sums& sums : groups_) shares.push_back(sums.workers > 0 && sums.wasted <= sums.computed ? sums.idle / sums.workers : -1);
  return shares;
}

std::vector<double> idle_of_groups(const RunRecord& record) {
  IdleOfGroups groups(record.group_devices.size());
  for (std::size_t worker = 0; worker < record.worker_groups.size(); ++worker) {
    const TimeSplit& split = record.workers[worker].split;
    const auto ticks = [](Time time) { return static_cast<double>(time.ticks()); };
    groups.add(record.worker_groups[worker], ticks(split[Phase::idle]), ticks(split[Phase::compute]), ticks(split[Phase::wasted]),
               ticks(split.total()));
  }
  return groups.shares();
}

std::string waited_for(const Scenario& scenario, const std::vector<double>& idle) {
  const std::vector<WorkerGroup>& groups = scenario.cluster.workers;
  if (idle.size() != groups.size()) return {};
  const auto count = [&](std::size_t group) { return idle[group] < 0 ? 0 : static_cast<double>(groups[group].count); };
  double all = 0, all_workers = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    all += count(group) * idle[group];
    all_workers += count(group);
  }
  const WorkerNames names(scenario);
  std::vector<std::size_t> special;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    constexpr double worth_telling = 0.1;
    const double workers = all_workers - count(group), others = workers > 0 ? (all - count(group) * idle[group]) / workers : 0;
    const bool waited = idle[group] >= 0 && others >= worth_telling && idle[group] <= others / 2;
    if (waited && !names.difference(group).empty()) special.push_back(group);
  }
  return names.groups(special);
}

}  // namespace straggler
