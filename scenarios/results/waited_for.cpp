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
  std::string text;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    double others = 0, workers = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (g == group || idle[g] < 0) continue;
      others += static_cast<double>(groups[g].count) * idle[g];
      workers += static_cast<double>(groups[g].count);
    }
    constexpr double worth_telling = 0.1;
    const bool waited = workers > 0 && idle[group] >= 0 && others / workers >= worth_telling && idle[group] <= others / workers / 2;
    if (waited && !group_difference(scenario, group).empty()) text += (text.empty() ? "" : ", ") + workers_of_group(scenario, group);
  }
  return text;
}

}  // namespace straggler
