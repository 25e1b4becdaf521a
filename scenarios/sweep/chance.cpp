#include "scenarios/sweep/chance.hpp"

#include <algorithm>
#include <array>

#include "sim/base/registry.hpp"
#include "sim/training/late_schemes.hpp"
#include "sim/training/plan.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

namespace {
/// The scheme draws clients or neighbours at random. Unknown for schemes that were registered late.
bool draws_who_acts(const Scenario& scenario) {
  const Kind& scheme = scenario.training.scheme;
  if (!late_code(scheme.name).empty()) return true;
  const SchemeEntry& entry = Registry<SchemeEntry>::instance().at(scheme.name);
  TrainingPlan plan;
  plan.workers = static_cast<Rank>(scenario.workers());
  const std::optional<std::int64_t> invited = entry.invited(scheme.parameters, plan);
  return (invited && *invited < plan.workers) || entry.versions(scheme.parameters) == Versions::free_running;
}
}  // namespace

bool timing_depends_on_seed(const Scenario& scenario) {
  const auto jitters = [&](const WorkerGroup& group) {
    const auto device = scenario.devices.find(group.device);
    return device == scenario.devices.end() || device->second.jitter.name != "none";
  };
  const auto comes_and_goes = [](const WorkerGroup& group) {
    return group.availability.name != "always" && group.availability.name != "trace";
  };
  const auto is_random = [](const BackgroundSpec& traffic) { return traffic.random; };
  const auto fails_by_chance = [](const FaultSpec& fault) {
    return std::ranges::any_of(std::array{&fault.every, &fault.repair, &fault.lasts, &fault.back_after},
                               [](const Kind* law) { return !law->name.empty() && law->name != "constant" && law->name != "never"; });
  };
  const bool links_jitter = scenario.cluster.network.jitter.name != "none";
  const std::string &partition = scenario.workload.partition.name, &data = scenario.workload.data.name;
  return std::any_of(scenario.cluster.workers.begin(), scenario.cluster.workers.end(), jitters) ||
         std::any_of(scenario.cluster.workers.begin(), scenario.cluster.workers.end(), comes_and_goes) ||
         std::any_of(scenario.cluster.network.background.begin(), scenario.cluster.network.background.end(), is_random) || links_jitter ||
         std::ranges::any_of(scenario.cluster.faults, fails_by_chance) || (partition != "iid" && partition != "shared") || data == "text" ||
         draws_who_acts(scenario);
}

}  // namespace straggler
