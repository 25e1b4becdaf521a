#include "scenarios/results/waited_for.hpp"

#include "scenarios/schema/worker_names.hpp"

namespace straggler {

double idle_if_used(double idle, double computed, double wasted) { return wasted > computed ? -1 : idle; }

std::vector<double> idle_of_groups(const RunRecord& record) {
  struct Shares {
    double idle = 0, computed = 0, wasted = 0, workers = 0;
  };
  std::vector<Shares> groups(record.group_devices.size());
  for (std::size_t worker = 0; worker < record.worker_groups.size(); ++worker) {
    const TimeSplit& split = record.workers[worker].split;
    const Time total = split.total();
    if (total == Time()) continue;
    const auto share = [&](Phase phase) { return static_cast<double>(split[phase].ticks()) / static_cast<double>(total.ticks()); };
    Shares& of = groups[record.worker_groups[worker]];
    of.idle += share(Phase::idle);
    of.computed += share(Phase::compute);
    of.wasted += share(Phase::wasted);
    ++of.workers;
  }
  std::vector<double> idle;
  for (const Shares& of : groups)
    idle.push_back(of.workers > 0 ? idle_if_used(of.idle / of.workers, of.computed / of.workers, of.wasted / of.workers) : -1);
  return idle;
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
