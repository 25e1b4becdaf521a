#include "scenarios/schema/writer.hpp"

#include "scenarios/schema/part.hpp"
#include "scenarios/schema/read_parts.hpp"

namespace straggler {

std::string write_jitter(const DeviceSpec& device, const Vocabulary& vocabulary) {
  if (device.jitter.name == "none") return "none";
  for (const auto& [key, text] : device_part().texts(device, {vocabulary}))
    if (key == "jitter") return text;
  throw std::logic_error("a device has no jitter");
}

std::string write_partition(const WorkloadSpec& workload, const Vocabulary& vocabulary) {
  const Kind& kind = workload.partition;
  return kind.parameters.all().empty() ? kind.name : flow_map(kind_texts(kind, KindGroup::partition, vocabulary));
}

std::string write_scenario(const Scenario& scenario, const Vocabulary& vocabulary) {
  std::string out = "straggler: 1\nname: " + yaml_scalar(scenario.name) + "\nseed: " + std::to_string(scenario.seed) + "\ndevices:";
  for (const auto& [name, device] : scenario.devices)
    out += "\n  " + yaml_scalar(name) + ":" + block_map(device_part().texts(device, {vocabulary}), "    ");
  const WriteContext context{vocabulary, "  ", &scenario.cluster.network.link};
  out += "\ncluster:" + block_map(cluster_part().texts(scenario.cluster, context), "  ");
  out += "\nworkload:" + block_map(workload_part().texts(scenario.workload, context), "  ");
  return out + "\ntraining:" + block_map(training_part().texts(scenario.training, context), "  ") + "\n";
}

}  // namespace straggler
