#include "scenarios/experiment/training_blueprint.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/optimizers/clipped.hpp"
#include "models/rules/elementwise.hpp"
#include "scenarios/experiment/at_place.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/even_split.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

TrainingBlueprint::TrainingBlueprint(const Scenario& scenario, const std::string& kernel_set, const WhatIf& changes)
    : WorkloadBlueprint(scenario, kernel_set),
      what_if(changes),
      scheme_entry(&Registry<SchemeEntry>::instance().at(scenario.training.scheme.name)) {
  plan.newest_weights = what_if.newest_weights;
  plan.endless = !has_data();
  plan.workers = static_cast<Rank>(scenario.workers());
  resolve_scheme(scenario);
  resolve_samples(scenario);
  resolve_optimizers(scenario);
  resolve_stop(scenario);
  resolve_compression(scenario);
  resolve_rebalancing(scenario);
}

/// Refuses settings that need a known number of samples.
void TrainingBlueprint::refuse_epochs(const Scenario& scenario) const {
  const TrainingSpec& training = scenario.training;
  const auto starts_anew = [&](const WorkerGroup& group) {
    const auto& loader = scenario.devices.at(group.device).loader;
    return loader && loader->start > 0;
  };
  const std::pair<bool, const char*> in_epochs[] = {
      {training.stop.epochs.has_value(), "training.stop.epochs"},
      {training.evaluate.every_epochs.has_value(), "training.evaluate.every.epochs"},
      {training.schedule.warmup_epochs > 0, "training.schedule.warmup.epochs"},
      {training.schedule.kind.name != "constant", "training.schedule"},
      {scenario.workload.serial_per_epoch > 0, "workload.serial_per_epoch"},
      {training.scheme.parameters.has("local_epochs"), "training.scheme"},
      {std::any_of(scenario.cluster.workers.begin(), scenario.cluster.workers.end(), starts_anew), "devices"},
  };
  for (const auto& [used, path] : in_epochs)
    if (used)
      throw_error(scenario, path,
                  "counts in epochs, and without data an epoch has no known number of samples; write workload.data: {kind: none, samples: "
                  "50000}, or avoid epochs");
}

/// [workers]: samples of a pass without data: the worker's part of an epoch in whole batches.
std::vector<std::uint64_t> TrainingBlueprint::whole_passes(const Scenario& scenario) const {
  if (data.train == 0) refuse_epochs(scenario);
  std::vector<std::uint64_t> out;
  for (Rank worker = 0; worker < plan.workers; ++worker) {
    const auto batch = static_cast<double>(plan.batch_of(worker));
    const double others =
        plan.batches.are_stated() ? static_cast<double>(plan.batches.total(plan.workers)) / batch : static_cast<double>(plan.workers);
    const double count = std::round(static_cast<double>(data.train) / others / batch);
    out.push_back(static_cast<std::uint64_t>(std::max(count, 1.0) * batch));
  }
  return out;
}

/// Settings in which a batch is no sum of micro-batches.
void TrainingBlueprint::refuse_accumulation(const Scenario& scenario) const {
  if (plan.accumulate == 1) return;
  const char* const place = "training.batch.accumulate";
  const Parameters& of_scheme = scenario.training.scheme.parameters;
  if (!scheme_entry->accumulates)
    throw_error(scenario, place, scheme_entry->name + " computes its batches in pieces of its own; remove it, or use another scheme");
  if (scheme_entry->exchange(of_scheme) != Exchange::none && !scheme_entry->sends_gradients(of_scheme))
    throw_error(scenario, place,
                scheme_entry->name + " sends weights, and accumulation delays the exchange of gradients; remove it, or use a scheme that " +
                    "sends gradients, such as ssgd");
  if (model && model->statistics() > 0 && !scenario.workload.exchange_statistics)
    throw_error(scenario, place,
                "each micro-batch moves batch norm's running statistics, which are not followed without their exchange; write "
                "workload.batch_norm: {exchange: true}");
}

void TrainingBlueprint::resolve_scheme(const Scenario& scenario) {
  const auto& training = scenario.training;
  const std::int64_t workers = scenario.workers();
  if (scheme_entry->only_workers && workers != *scheme_entry->only_workers)
    throw_error(scenario, "training.scheme",
                scheme_entry->name + " runs on " + std::to_string(*scheme_entry->only_workers) + " worker, the cluster has " +
                    std::to_string(workers) + "; make it one group of `count: 1`, or use another scheme");
  plan.statistics = numerics.dynamic() || (model && model->statistics() > 0);
  if (const std::string why = scheme_entry->unfit(training.scheme.parameters, plan); !why.empty())
    throw_error(scenario, "training.scheme", why);
  if (const Parameters& of_scheme = training.scheme.parameters; of_scheme.has("clients") && of_scheme.count("clients") > workers)
    throw_error(scenario, "training.scheme.clients",
                "is " + std::to_string(of_scheme.count("clients")) + ", and there are " + std::to_string(workers) +
                    "; use as many or fewer, or add workers");
  scheme = at_place(scenario, "training.scheme", [&] { return scheme_entry->make(training.scheme.parameters); });
  plan.batches = batches;
  plan.weighs_batches = batches.are_stated() && scheme_entry->weighs_batches;
  plan.accumulate = training.batch.accumulate;
  refuse_accumulation(scenario);
  plan.minibatch = scheme_entry->minibatch(training.scheme.parameters).value_or(0);
  plan.cell_chunks = scheme_entry->cell_chunks(training.scheme.parameters).value_or(0);
  plan.versions = scheme_entry->versions(training.scheme.parameters);
  plan.drop_last = training.batch.drop_last;
  const bool whole = numerics.precision == Precision::fp32;
  plan.fuse =
      scenario.workload.fuse && !(model && model->couples_samples()) && whole;  // each worker's gradient is rounded before it is sent
  if (training.clip && training.clip_at == TrainingSpec::ClipAt::worker) {
    plan.worker_clip = *training.clip;
    plan.fuse = false;
  }
  if (plan.accumulate > 1) {
    plan.fuse = false;
    if (model && model->statistics() > 0) plan.statistics_momentum = static_cast<double>(statistics_momentum);
  }
  plan.rounding = whole ? nullptr : numerics.precision == Precision::fp16 ? &rules::as_fp16 : &rules::as_bf16;
  plan.seed = scenario.seed;
  plan.invited = scheme_entry->invited(training.scheme.parameters, plan);
  plan.clients_keep_vectors = scheme_entry->clients_keep_vectors;
  plan.selection = scheme_entry->selection(training.scheme.parameters);
  plan.input_bytes = cost.input_bytes;
  plan.output_bytes = static_cast<double>(number_bytes() * data.classes * data.places());
}

/// Batches that change during the run.
void TrainingBlueprint::resolve_rebalancing(const Scenario& scenario) {
  const std::optional<std::int64_t> every = scenario.training.batch.rebalance_every;
  if (!every) return;
  const char* const place = "training.batch.rebalance";
  const SchemeEntry& of = *scheme_entry;
  const bool all_wait = of.family == Family::synchronous && of.contributions.text == UpdateContributions().text;
  if (!all_wait || !of.weighs_batches)
    throw_error(scenario, place,
                of.name +
                    " does not average one gradient of every worker in each update, weighed by its batch; use ssgd, or remove it "
                    "and write training.batch: {global: 1000, split: by_speed}");
  if (has_data() && !streams.shared)
    throw_error(scenario, place,
                "moves samples between workers, and workload.data.partition " + scenario.workload.partition.name +
                    " gives each a part of its own; write partition: shared");
  plan.rebalance_every = static_cast<std::uint64_t>(*every);
}

/// Parts in proportion to stated batches have a whole batch where all of them together do.
bool TrainingBlueprint::parts_follow_batches(const Scenario& scenario) const {
  return plan.batches.are_stated() && !streams.shared && scenario.workload.partition.name == "iid" &&
         data.train >= static_cast<std::uint64_t>(plan.batches.total(plan.workers));
}

/// How many samples each worker goes through, and all of them in an epoch.
void TrainingBlueprint::resolve_samples(const Scenario& scenario) {
  plan.train_samples = data.train;
  if (const auto some = static_cast<std::size_t>(scenario.training.evaluate.train_samples); some < data.train) subset = some;
  plan.shared_stream = streams.shared;
  plan.stream_samples = plan.endless ? whole_passes(scenario) : streams.sizes;
  if (plan.drop_last && !plan.endless) {
    const auto parts = static_cast<std::uint64_t>(plan.workers);
    const std::uint64_t smallest =
        streams.shared ? (data.train + parts - 1) / parts : *std::min_element(streams.sizes.begin(), streams.sizes.end());
    if (smallest < static_cast<std::uint64_t>(plan.batch_of(plan.batches.largest())) && !parts_follow_batches(scenario))
      throw_error(scenario, "training.batch.drop_last",
                  "a worker's part of the data, " + std::to_string(smallest) +
                      " samples, is less than one batch, so no batch would be left; use a smaller batch or drop_last: false");
  }
  plan.epoch_samples = plan.endless ? data.train : 0;
  if (plan.shared_stream) plan.epoch_samples = plan.pass_samples(0);
  // Dropped samples belong to no epoch.
  for (Rank worker = 0; worker < plan.workers && !plan.shared_stream && !plan.endless; ++worker)
    plan.epoch_samples += plan.pass_samples(worker);
  const Parameters& of_scheme = scenario.training.scheme.parameters;
  if (plan.endless || !scheme_entry->sends_gradients(of_scheme)) return;
  const std::optional<double> updates = scheme_entry->updates_per_epoch(of_scheme, plan);
  if (updates && *updates > 0) gradients_an_update = plan.batches_per_epoch() / *updates;
}

void TrainingBlueprint::resolve_optimizers(const Scenario& scenario) {
  const TrainingSpec& training = scenario.training;
  const auto& schedule = training.schedule;
  const double total = training.stop.epochs.value_or(std::numeric_limits<double>::infinity());
  const Schedule::Shape shape = at_place(scenario, "training.schedule", [&] {
    return Registry<ScheduleEntry>::instance().at(schedule.kind.name).make(schedule.kind.parameters, total);
  });
  optimizer = at_place(scenario, "training.optimizer", [&] {
    // Of schemes that count a gradient as so many mean batches, which scales the rate.
    const Parameters& of_scheme = training.scheme.parameters;
    const bool by_batch = of_scheme.has("scale_with_batch") && of_scheme.flag("scale_with_batch");
    const RateScaling scaling =
        by_batch && schedule.scale_with_workers == RateScaling::none ? RateScaling::linear : schedule.scale_with_workers;
    return Registry<OptimizerEntry>::instance()
        .at(training.optimizer.name)
        .make(training.optimizer.parameters, Schedule(shape, scaling, schedule.warmup_epochs));
  });
  if (training.clip && plan.worker_clip == 0) optimizer = make_clipped(std::move(optimizer), *training.clip);
  plan.optimizer = optimizer.get();
  if (scheme_entry->weighs_steps && !optimizer->weight_of_steps(1))
    throw_error(scenario, "training.optimizer",
                scheme_entry->name +
                    " divides a client's change by the weight of its steps, which is known for sgd without nesterov; use " +
                    "{kind: sgd, learning_rate: 0.05, momentum: 0.9}, or fedavg");
  if (const std::optional<OptimizerChoice> outer = scheme_entry->outer_optimizer(training.scheme.parameters)) {
    const OptimizerEntry& entry = Registry<OptimizerEntry>::instance().at(outer->kind);
    const auto constant = [](double) { return 1.0; };
    outer_optimizer = at_place(scenario, "training.scheme", [&] {
      return entry.make(complete(entry.parameters, outer->parameters), Schedule(constant, Schedule::Scaling::none, 0));
    });
    plan.outer_optimizer = outer_optimizer.get();
  }
  refuse_cut_tensors(scenario);
}

/// Each server steps on an equal piece of the weights.
void TrainingBlueprint::refuse_cut_tensors(const Scenario& scenario) const {
  const Parameters& of_scheme = scenario.training.scheme.parameters;
  const std::int64_t servers = scenario.cluster.servers.count;
  if (servers < 2 || !scheme_entry->needs_server(of_scheme)) return;
  const UpdateRule* steps = outer_optimizer.get();
  if (!steps && scheme_entry->sends_gradients(of_scheme)) steps = optimizer.get();
  if (!steps || steps->needs_tensors().empty()) return;
  throw_error(scenario, "cluster.servers.count",
              "is " + std::to_string(servers) + ", and each server steps on an equal piece of the weights, which cuts tensors that " +
                  std::string(steps->needs_tensors()) + " needs whole; write 1, or use another optimizer, such as adamw");
}

void TrainingBlueprint::resolve_stop(const Scenario& scenario) {
  const TrainingSpec& training = scenario.training;
  stop.epochs = training.stop.epochs;
  stop.target_accuracy = training.stop.target_accuracy;
  stop.at_target = training.stop.on_target == StopSpec::OnTarget::stop;
  if (training.stop.updates) stop.updates = static_cast<std::uint64_t>(*training.stop.updates);
  if (training.stop.simulated_time) stop.simulated_time = Time::from_seconds(*training.stop.simulated_time);
  const EvaluateSpec& evaluate = training.evaluate;
  evaluation.every_epochs = evaluate.every_epochs;
  if (evaluate.every_updates) evaluation.every_updates = static_cast<std::uint64_t>(*evaluate.every_updates);
  if (evaluate.every_simulated_time) evaluation.every_time = Time::from_seconds(*evaluate.every_simulated_time);
  evaluation.thresholds = evaluate.thresholds;
  evaluation.sustain = evaluate.sustain;
  evaluation.set = evaluate.split == EvaluateSpec::Split::validation ? EvaluationSet::validation : EvaluationSet::test;
}

std::size_t TrainingBlueprint::state_vectors() const {
  // Counts them by two dry steps.
  Lineage lineage(Math::none, Key{1, 1});
  std::vector<Handle> state;
  const Handle initial = lineage.initial();
  for (int i = 0; i < 2; ++i) plan.optimizer->step(lineage, initial, initial, 0, 1, state);
  return state.size();
}

}  // namespace straggler
