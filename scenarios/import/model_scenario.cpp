// The scenario of an imported model: the layers are the file's, cluster and training are assumed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/experiment/device_memory.hpp"
#include "scenarios/experiment/what_if.hpp"
#include "scenarios/import/host_topology.hpp"
#include "scenarios/import/model_import.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler {
namespace {

// The only built-in device of which the host's part is measured, in hosts of eight; as many hosts as it takes for both kinds of links to
// matter.
constexpr const char* assumed_device = "h100";
constexpr const char* assumed_machine = "dgx_h100";
constexpr std::size_t assumed_workers = 16, assumed_per_host = 8;
constexpr std::int64_t usual_batch = 32;

/// Up to two significant digits.
double rounded_up(double bytes) {
  const double step = std::pow(10, std::floor(std::log10(bytes)) - 1);
  return std::ceil(bytes / step) * step;
}

std::string comment_lines(const char* label, const std::vector<std::string>& sentences) {
  std::string all;
  for (const std::string& sentence : sentences) all += fmt::format("      # {}: {}\n", label, sentence);
  return all;
}

}  // namespace

std::vector<std::string> assumptions_of(const ModelScenario& scenario, const AssumedJob& job) {
  const std::string size =
      scenario.hosts ? fmt::format("{} as in {}", scenario.hosts->gpus, scenario.hosts->file) : std::to_string(assumed_per_host);
  std::vector<std::string> all = {fmt::format("{} {} in hosts of {}, DistributedDataParallel, AdamW, {} a worker, FP32", assumed_workers,
                                              assumed_device, size, job.batch == 1 ? "1 sample" : fmt::format("{} samples", job.batch))};
  if (job.memory)
    all.push_back(fmt::format("devices with {}: weights, gradient, optimizer state, buckets and one sample take that, and an {} has {}",
                              readable_bytes(*job.memory), assumed_device,
                              readable_bytes(Registry<DeviceProfile>::instance().at(assumed_device).memory)));
  return all;
}

std::string scenario_yaml(const ModelScenario& scenario, const AssumedJob& job) {
  const CostTable& table = scenario.model->table;
  const std::string device = job.memory ? "node" : assumed_device;
  std::string yaml = fmt::format(
      "{} {} from {}, which replaces this file while this line begins it.\n"
      "#   straggler run FILE --timing-only\n"
      "# The model is that of the file. Cluster and training are assumed, so that this runs: change what is \"assumed\".\n"
      "straggler: 1\n"
      "name: {}\n\n",
      import_mark, version(), scenario.from, yaml_word(scenario.name));
  if (job.memory)
    yaml += fmt::format(
        "devices:\n"
        "  node: {{profile: {}, memory: {}}}   # assumed: more memory than it has, since one sample needs that\n\n",
        assumed_device, format_quantity(*job.memory, Dimension::bytes));
  const std::string network = scenario.hosts ? network_lines(*scenario.hosts)
                                             : fmt::format(
                                                   "    link: {{bandwidth: 400Gbps, latency: 5us}}   # assumed\n"
                                                   "    intra: {{machine: {}}}   # assumed; others: straggler list machines\n",
                                                   assumed_machine);
  yaml += fmt::format(
      "cluster:\n"
      "  workers: [{{count: {}, device: {}, per_host: {}}}]   # assumed; others: straggler list devices\n"
      "  network:\n"
      "{}"
      "    collective: {{overlap: true}}   # assumed: buckets of PyTorch's DistributedDataParallel\n\n",
      assumed_workers, device, scenario.hosts ? scenario.hosts->gpus : assumed_per_host, network);
  yaml += fmt::format(
      "workload:\n"
      "  cost:\n"
      "    model:\n"
      "      kind: sizes\n"
      "      layers: layers.csv   # from {}: {} parameters, {} forward a sample\n",
      scenario.from, readable_count(table.parameters()), readable_flops(table.forward_flops()));
  if (table.input_bytes >= 1)
    yaml += fmt::format("      input_bytes: {:.0f}B   # from {}: of a sample\n", table.input_bytes, scenario.from);
  yaml += comment_lines("assumed", scenario.assumed) + comment_lines("missing", scenario.missing);
  yaml += fmt::format(
      "\n"
      "training:\n"
      "  scheme: ssgd   # assumed; others: straggler list schemes\n"
      "  batch: {{per_worker: {}}}   # assumed{}\n"
      "  optimizer: {{kind: adamw, learning_rate: 0.001}}   # assumed\n"
      "  stop: {{updates: 400}}   # assumed\n",
      job.batch, job.batch == usual_batch ? "" : ": the largest power of two that fits");
  return yaml;
}

AssumedJob fitting_job(const ModelScenario& scenario) {
  Scenario read = read_scenario_text(scenario_yaml(scenario, {}), "scenario.yaml");
  read.workload.cost.model->parameters.set("layers", layers_csv(scenario.model->table));
  const TrainingBlueprint blueprint(read, "auto", {});
  const double memory = Registry<DeviceProfile>::instance().at(assumed_device).memory;
  const TrainingMemory needed = training_memory(read, blueprint);
  const double largest = needed.largest_batch(memory);
  if (largest < 1) return {1, rounded_up(needed.with(blueprint.plan.minibatch_of(0)).total())};
  AssumedJob job;
  while (job.batch < usual_batch && static_cast<double>(2 * job.batch) <= largest) job.batch *= 2;
  return job;
}

}  // namespace straggler
