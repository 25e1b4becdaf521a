#include "scenarios/experiment/blueprint.hpp"

#include <algorithm>
#include <limits>

#include "scenarios/experiment/device_memory.hpp"
#include "scenarios/experiment/tariffs.hpp"

namespace straggler {

namespace {

/// [workers]: the batch that a worker can have: of its device's memory, and of the data.
std::vector<std::uint32_t> largest_batches(const Scenario& scenario, const TrainingBlueprint& blueprint) {
  const double all = blueprint.has_data() ? static_cast<double>(blueprint.data.train) : std::numeric_limits<std::int32_t>::max();
  const TrainingMemory needed = training_memory(scenario, blueprint);
  std::vector<std::uint32_t> out;
  for (const WorkerGroup& group : scenario.cluster.workers) {
    const std::optional<double>& memory = scenario.devices.at(group.device).memory;
    const double fits = memory ? needed.largest_batch(*memory) * static_cast<double>(blueprint.plan.accumulate) : all;
    out.insert(out.end(), static_cast<std::size_t>(group.count), static_cast<std::uint32_t>(std::clamp(fits, 1.0, all)));
  }
  return out;
}

}  // namespace

Blueprint::Blueprint(const Scenario& scenario, const std::string& kernel_set, const WhatIf& changes)
    : TrainingBlueprint(scenario, kernel_set, changes) {
  resolve_cluster(scenario);
  refuse_sharding(scenario);
  resolve_collective(scenario);
  resolve_sharding(scenario);
  resolve_tariffs(scenario);
  check_memory(scenario, *this);
  if (plan.rebalance_every > 0) plan.largest_batches = largest_batches(scenario, *this);
  faults_ = resolve_faults(scenario);
  resolve_fault_processes(scenario);
  if (scenario.rolls_back()) refuse_rollback(scenario);
  if (scenario.training.recovery && scenario.training.recovery->kind == RecoverySpec::Kind::peer) refuse_replacement(scenario);
  recovery_ = recovery_settings(scenario);
  token_buckets(scenario);  // throws on errors in them; they are not kept, since a million workers may have two each
  background_ = resolve_background(scenario);
}

void Blueprint::resolve_tariffs(const Scenario& scenario) {
  CollectiveShape without = shape;
  without.servers = 0;
  const bool reduces_by_servers = all_reduce && !all_reduce->unfit(without).empty();
  const std::size_t used = reduces_by_servers ? static_cast<std::size_t>(scenario.cluster.servers.count) : servers;
  tariffs = tariffs_of(scenario, used, aggregators_share ? 0 : index_of(plan.aggregation.count()));
  for (std::string& doubt : cost_doubts(scenario)) notes.push_back(std::move(doubt));
}

}  // namespace straggler
