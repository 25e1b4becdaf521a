#include "scenarios/experiment/alone.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/experiment/cluster_facts.hpp"
#include "scenarios/experiment/device_memory.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

namespace {

/// Of worker i of group g, with a factor for its computing.
double seconds_of_batch(const Scenario& scenario, const Blueprint& blueprint, std::size_t g, std::int64_t i, std::int64_t batch,
                        std::int64_t pieces, double factor) {
  const WorkerGroup& group = scenario.cluster.workers[g];
  const double computing = factor * slowdown_of(group, i) * seconds_of(blueprint.time_of(g, i), batch, pieces);
  const DeviceSpec& device = scenario.devices.at(group.device);
  const double state = static_cast<double>(blueprint.model_bytes) * 4 / static_cast<double>(blueprint.number_bytes());
  return with_loading(computing, group, device, static_cast<double>(batch), blueprint.cost.input_bytes, state * inverse(device.update));
}

}  // namespace

decltype(RunRecord::alone) rate_alone(const Scenario& scenario, const Blueprint& blueprint) {
  decltype(RunRecord::alone) out;
  const std::optional<std::int64_t> global = scenario.training.batch.global;
  out.strong = global.has_value();
  const TrainingMemory memory = memory_alone(scenario, blueprint);
  double rate = 0;
  for (std::size_t g = 0; g < scenario.cluster.workers.size(); ++g) {
    const WorkerGroup& group = scenario.cluster.workers[g];
    const DeviceSpec& device = scenario.devices.at(group.device);
    const double jitter = Registry<JitterEntry>::instance().at(device.jitter.name).mean_of(device.jitter.parameters);
    const auto rate_of = [&](std::int64_t i) {
      const Rank worker = blueprint.first_of_group[g] + static_cast<Rank>(i);
      const std::int64_t batch = global.value_or(blueprint.plan.batch_of(worker));
      std::int64_t pieces = blueprint.plan.accumulate;
      if (global && device.memory && blueprint.plan.minibatch == 0)
        if (const double most = memory.largest_batch(*device.memory); most >= 1)
          pieces = std::max(pieces, static_cast<std::int64_t>(std::ceil(static_cast<double>(batch) / most)));
      if (pieces > blueprint.plan.accumulate) out.micro_batches = std::max(out.micro_batches, pieces);
      return static_cast<double>(batch) / seconds_of_batch(scenario, blueprint, g, i, batch, pieces, jitter);
    };
    for (std::int64_t i = 0; i < group.count; ++i) rate += rate_of(i);
  }
  if (std::isfinite(rate) && rate > 0) out.samples_per_second = rate;
  return out;
}

std::vector<double> seconds_alone(const Scenario& scenario, const Blueprint& blueprint) {
  std::vector<double> seconds;
  seconds.reserve(static_cast<std::size_t>(scenario.workers()));
  for (std::size_t g = 0; g < scenario.cluster.workers.size(); ++g)
    for (std::int64_t i = 0; i < scenario.cluster.workers[g].count; ++i)
      seconds.push_back(seconds_of_batch(scenario, blueprint, g, i, blueprint.plan.batches.typical(), blueprint.plan.accumulate, 1));
  return seconds;
}

}  // namespace straggler
