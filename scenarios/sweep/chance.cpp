#include "scenarios/sweep/chance.hpp"

#include <algorithm>

namespace straggler {

bool timing_depends_on_seed(const Scenario& scenario) {
  const auto jitters = [&](const WorkerGroup& group) {
    const auto device = scenario.devices.find(group.device);
    return device == scenario.devices.end() || device->second.jitter.name != "none";
  };
  const auto is_random = [](const BackgroundSpec& traffic) { return traffic.random; };
  const std::string &partition = scenario.workload.partition.name, &data = scenario.workload.data.name;
  const Kind& scheme = scenario.training.scheme;
  return std::any_of(scenario.cluster.workers.begin(), scenario.cluster.workers.end(), jitters) ||
         std::any_of(scenario.cluster.network.background.begin(), scenario.cluster.network.background.end(), is_random) ||
         (partition != "iid" && partition != "shared") || data == "text" ||
         (scheme.name == "fedavg" && scheme.parameters.number("fraction") < 1);
}

}  // namespace straggler
