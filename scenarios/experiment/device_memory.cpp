#include "scenarios/experiment/device_memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "scenarios/experiment/memory.hpp"
#include "scenarios/experiment/network_units.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

DeviceMemory TrainingMemory::with(std::int64_t samples) const {
  DeviceMemory memory = fixed;
  memory.activations = static_cast<double>(samples) * sample;
  return memory;
}

double TrainingMemory::largest_batch(double memory) const {
  const double left = memory - fixed.total();
  if (left < 0) return 0;
  if (sample <= 0) return std::numeric_limits<double>::infinity();
  // Rounding may have pushed the quotient over a whole number.
  const double batch = std::floor(left / sample);
  return fixed.total() + batch * sample > memory ? batch - 1 : batch;
}

namespace {

double sample_bytes_with(const WorkloadBlueprint& blueprint, Recompute recompute) {
  const auto number = static_cast<double>(blueprint.number_bytes());
  return kept_bytes(blueprint.cost, recompute, number) + number / 4 * blueprint.cost.input_bytes;
}

}  // namespace

double sample_bytes(const WorkloadBlueprint& blueprint) { return sample_bytes_with(blueprint, blueprint.recompute); }

namespace {

TrainingStates states_of(const Scenario& scenario, const TrainingBlueprint& blueprint) {
  const OptimizerEntry& optimizer = Registry<OptimizerEntry>::instance().at(scenario.training.optimizer.name);
  const CostTable& cost = blueprint.cost;
  TrainingStates states;
  states.number_bytes = static_cast<double>(blueprint.number_bytes());
  states.parameters =
      cost.layers.empty() ? static_cast<double>(blueprint.model_bytes) / states.number_bytes : static_cast<double>(cost.parameters());
  states.optimizer_bytes = 4 * static_cast<double>(blueprint.state_vectors()) * states.parameters;
  if (optimizer.memory && !cost.layers.empty()) {
    const OptimizerMemory memory = optimizer.memory(cost.tensors());
    states.optimizer_bytes = memory.state;
    states.scratch_bytes = memory.scratch;
  }
  if (blueprint.compression && blueprint.compression->error_feedback) states.residual_bytes = 4 * states.parameters;
  return states;
}

StateShares shares_of(const TrainingBlueprint& blueprint) {
  const Sharding& sharding = blueprint.plan.sharding;
  StateShares shares;
  shares.stage = sharding.stage;
  shares.ways = static_cast<double>(sharding.ways);
  shares.padding = sharding.padding;
  shares.whole_gradients = sharding.stage > 1 && !sharding.reduces_each && blueprint.plan.accumulate > 1;
  shares.prefetch = sharding.prefetch;
  shares.keeps_gathered = sharding.keeps_gathered;
  shares.secondary_ways = sharding.secondary_in_host ? static_cast<double>(sharding.on_host) : 0;
  shares.secondary_bytes = static_cast<double>(sharding.gathered_bytes);
  if (sharding.stage == 3)
    for (const WorkBucket& unit : blueprint.plan.buckets) shares.units.push_back(static_cast<double>(unit.numbers));
  return shares;
}

/// Bytes of the buckets in which gradients are all-reduced.
double bucket_bytes(const Scenario& scenario, const TrainingBlueprint& blueprint) {
  const CollectiveSpec& collective = scenario.cluster.network.collective;
  const bool reduces = blueprint.plan.workers > 1 && blueprint.scheme_entry->all_reduces(scenario.training.scheme.parameters) &&
                       blueprint.scheme_entry->sends_gradients(scenario.training.scheme.parameters);
  const bool cut = collective.bucket || collective.merge == CollectiveSpec::Merge::mg_wfbp;
  return reduces && cut ? static_cast<double>(blueprint.model_bytes) : 0;
}

TrainingMemory memory_of(const Scenario& scenario, const TrainingBlueprint& blueprint, const StateShares& shares) {
  TrainingMemory memory{states_on_device(states_of(scenario, blueprint), shares), sample_bytes(blueprint)};
  if (shares.stage == 0) memory.fixed.buckets = bucket_bytes(scenario, blueprint);
  return memory;
}

}  // namespace

TrainingMemory memory_alone(const Scenario& scenario, const TrainingBlueprint& blueprint) {
  return {states_on_device(states_of(scenario, blueprint), {}), sample_bytes(blueprint)};
}

TrainingMemory training_memory(const Scenario& scenario, const TrainingBlueprint& blueprint) {
  return memory_of(scenario, blueprint, shares_of(blueprint));
}

std::int64_t largest_in_group(const Scenario& scenario, const TrainingBlueprint& blueprint, std::size_t group) {
  const TrainingPlan& plan = blueprint.plan;
  const auto of = [&plan](Rank worker) { return (plan.minibatch_of(worker) + plan.accumulate - 1) / plan.accumulate; };
  Rank first = 0;
  for (std::size_t g = 0; g < group; ++g) first += static_cast<Rank>(scenario.cluster.workers[g].count);
  if (!plan.batches.are_stated()) return of(0);
  std::int64_t most = 1;
  for (Rank i = 0; i < scenario.cluster.workers[group].count; ++i) most = std::max(most, of(first + i));
  return most;
}

namespace {

/// A device that training does not fit, and the group of its workers that holds most.
struct Overfull {
  std::string device;
  double memory = 0;
  std::size_t group = 0;
  std::int64_t held = 0;  // samples
};

/// The one with the least room for samples.
std::optional<Overfull> overfull_device(const Scenario& scenario, const TrainingBlueprint& blueprint, const TrainingMemory& needed) {
  std::optional<Overfull> found;
  for (const auto& [name, device] : scenario.devices) {
    if (!device.memory) continue;
    Overfull each{name, *device.memory};
    for (std::size_t g = 0; g < scenario.cluster.workers.size(); ++g)
      if (scenario.cluster.workers[g].device == name)
        if (const std::int64_t most = largest_in_group(scenario, blueprint, g); most > each.held) each.held = most, each.group = g;
    const bool fits = each.held == 0 || needed.with(each.held).total() <= each.memory;
    if (!fits && (!found || each.memory < found->memory)) found = std::move(each);
  }
  return found;
}

/// Micro-batches of at most so many samples, where the scheme may accumulate; none: it may not.
std::optional<std::int64_t> fitting_micro_batches(const Scenario& scenario, const TrainingBlueprint& blueprint, const Overfull& device,
                                                  double samples) {
  const bool counts = blueprint.scheme_entry->accumulates && blueprint.scheme_entry->sends_gradients(scenario.training.scheme.parameters);
  const bool moves_statistics = blueprint.model && blueprint.model->statistics() > 0 && !scenario.workload.exchange_statistics;
  if (!counts || moves_statistics || blueprint.plan.minibatch > 0 || samples < 1) return std::nullopt;
  const auto batch = static_cast<double>(device.held * blueprint.plan.accumulate);
  const auto pieces = static_cast<std::int64_t>(std::ceil(batch / samples));
  return pieces <= 10'000 ? std::optional(pieces) : std::nullopt;
}

/// Whether Blueprint::resolve_sharding would take any stage.
bool may_share(const Scenario& scenario, const TrainingBlueprint& blueprint) {
  const std::string& compression = scenario.training.compression.name;
  return blueprint.plan.workers > 1 && blueprint.scheme_entry->shards(scenario.training.scheme.parameters) &&
         blueprint.optimizer->needs_tensors().empty() && blueprint.plan.worker_clip == 0 && scenario.cluster.faults.empty() &&
         (!blueprint.compression || compression == "fp16" || compression == "bf16");
}

struct FittingStage {
  std::int64_t stage = 0;
  double samples = 0;  // that fit
};

/// The first further stage at which so many samples fit; none: they do at no stage, or workers cannot share states.
std::optional<FittingStage> fitting_stage(const Scenario& scenario, const TrainingBlueprint& blueprint, const Overfull& device,
                                          double samples) {
  if (!may_share(scenario, blueprint)) return std::nullopt;
  StateShares shares = shares_of(blueprint);
  if (shares.stage == 0) shares.ways = static_cast<double>(blueprint.plan.workers);
  while (++shares.stage <= 3) {
    if (shares.stage == 3)
      for (const WorkBucket& unit :
           units_of(blueprint.cost, blueprint.backward_flops(scenario.devices.at(device.device)),
                    scenario.training.sharding.value_or(ShardingSpec()), blueprint.priced_parameters(), blueprint.number_bytes()))
        shares.units.push_back(static_cast<double>(unit.numbers));
    const double fitting = memory_of(scenario, blueprint, shares).largest_batch(device.memory);
    if (fitting >= samples) return FittingStage{shares.stage, fitting};
  }
  return std::nullopt;
}

/// ", where 12 samples fit".
std::string where_fit(double samples) {
  return fmt::format(", where {} sample{} fit{}", format_number(samples), samples == 1 ? "" : "s", samples == 1 ? "s" : "");
}

/// The least that backward may compute again so that so many samples fit; empty: that does not suffice.
std::string fitting_recompute(const Scenario& scenario, const TrainingBlueprint& blueprint, const Overfull& device, double samples) {
  if (blueprint.cost.layers.empty()) return {};
  TrainingMemory needed = training_memory(scenario, blueprint);
  const double now = needed.sample;
  for (const auto& [name, recompute] : {std::pair("attention", Recompute::attention), std::pair("blocks", Recompute::blocks)}) {
    needed.sample = sample_bytes_with(blueprint, recompute);
    const double fitting = needed.largest_batch(device.memory);
    if (needed.sample >= now || fitting < samples) continue;
    const std::string key = std::string("workload.recompute: ") + name;
    return samples < static_cast<double>(device.held) ? key + where_fit(fitting) : key;
  }
  return {};
}

/// "; a worker's batch may have 12 samples at most; or write training.batch.accumulate: 3; or …".
std::string remedy_of(const Scenario& scenario, const TrainingBlueprint& blueprint, const Overfull& device, double samples) {
  const bool in_pieces = blueprint.plan.minibatch > 0;
  const auto sharded = [&](const FittingStage& fitting) {
    return scenario.training.sharding ? fmt::format("training.sharding.stage: {}", fitting.stage)
                                      : fmt::format("training.sharding: {{stage: {}}}", fitting.stage);
  };
  std::optional<FittingStage> stage = fitting_stage(scenario, blueprint, device, static_cast<double>(device.held));
  const std::string recompute = fitting_recompute(scenario, blueprint, device, static_cast<double>(device.held));
  if (samples < 1) {
    if (!recompute.empty()) return "; not one sample fits; write " + recompute + (stage ? ", or " + sharded(*stage) : "");
    if (stage) return "; not one sample fits; write " + sharded(*stage);
    stage = fitting_stage(scenario, blueprint, device, 1);
    if (stage) return "; not one sample fits; write " + sharded(*stage) + where_fit(stage->samples);
    if (const std::string some = fitting_recompute(scenario, blueprint, device, 1); !some.empty())
      return "; not one sample fits; write " + some;
    return "; not one sample fits: use a device with more memory, or a smaller model";
  }
  std::string remedy = "; a worker's " +
                       std::string(in_pieces                       ? "minibatch"
                                   : blueprint.plan.accumulate > 1 ? "micro-batch"
                                                                   : "batch") +
                       " may have " + format_number(samples) + (samples == 1 ? " sample at most" : " samples at most");
  if (scenario.training.batch.global && !in_pieces && blueprint.plan.accumulate == 1)
    remedy += ", all workers' together " + format_number(samples * static_cast<double>(blueprint.plan.workers));
  if (const auto pieces = fitting_micro_batches(scenario, blueprint, device, samples))
    remedy += fmt::format("; or write training.batch.accumulate: {}", *pieces);
  if (!recompute.empty()) remedy += "; or " + recompute;
  if (stage) remedy += "; or " + sharded(*stage);
  return remedy;
}

}  // namespace

void check_memory(const Scenario& scenario, const TrainingBlueprint& blueprint) {
  const TrainingMemory needed = training_memory(scenario, blueprint);
  const std::optional<Overfull> device = overfull_device(scenario, blueprint, needed);
  if (!device) return;
  const DeviceMemory held = needed.with(device->held);
  std::string counted = parts_of(held);
  if (!counts_activations(blueprint))
    counted +=
        fmt::format("; without activations, which workload.cost.{} does not give", blueprint.cost.layers.empty() ? "bytes" : "model");
  throw_error(
      scenario,
      blueprint.plan.minibatch > 0                    ? "training.scheme"
      : scenario.cluster.workers[device->group].batch ? "cluster.workers[" + std::to_string(device->group) + "].batch"
      : scenario.training.batch.global                ? "training.batch.global"
                                                      : "training.batch.per_worker",
      fmt::format("training takes {} on a device ({}), and {} has {}{}", in_tenths(held.total(), std::ceil), counted, device->device,
                  in_tenths(device->memory, std::floor), remedy_of(scenario, blueprint, *device, needed.largest_batch(device->memory))));
}

}  // namespace straggler
