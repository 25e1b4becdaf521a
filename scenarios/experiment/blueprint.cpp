#include "scenarios/experiment/blueprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scenarios/experiment/at_place.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/even_split.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

namespace {

Numerics numerics_of(const Scenario& scenario) {
  const WorkloadSpec& spec = scenario.workload;
  Numerics numerics;
  if (spec.precision == NumberFormat::fp16 || spec.precision == NumberFormat::mixed) numerics.precision = Precision::fp16;
  if (spec.precision == NumberFormat::bf16) numerics.precision = Precision::bf16;
  numerics.loss_scale = static_cast<float>(spec.loss_scale);
  numerics.growth_every = static_cast<std::uint32_t>(spec.growth_every);
  const auto registers_of = [](const std::string& kind) { return Registry<OptimizerEntry>::instance().at(kind).registers; };
  numerics.optimizer_registers = registers_of(scenario.training.optimizer.name);
  const Kind& scheme = scenario.training.scheme;
  if (const auto outer = Registry<SchemeEntry>::instance().at(scheme.name).outer_optimizer(scheme.parameters))
    numerics.optimizer_registers = std::max(numerics.optimizer_registers, registers_of(outer->kind));
  return numerics;
}

Hasher& add(Hasher& hasher, const Kind& kind) {
  hasher.add(kind.name);
  for (const auto& [name, value] : kind.parameters.all()) add(hasher.add(name), value);
  return hasher;
}

/// Far beyond any model: products with bytes and copies still fit into 64 bits.
constexpr double most_parameters = 1e13;

/// Counted from the shapes, since a product of widths may not fit into 64 bits.
void check_size(const Model& model) {
  double parameters = 0;
  for (const TensorInfo& tensor : model.tensors()) {
    double size = 1;
    for (const std::size_t width : tensor.shape) size *= static_cast<double>(width);
    parameters += size;
  }
  if (!(parameters <= most_parameters))
    throw std::invalid_argument(fmt::format("has {:.3g} parameters; write a model of at most {:.0e}", parameters, most_parameters));
}

/// Says where in the scenario the data was named whose files are wrong.
template <class Read>
auto with_data_place(const Scenario& scenario, const Read& read) {
  try {
    return read();
  } catch (const DataError& wrong) {
    throw_error(scenario, scenario.workload.data.parameters.has("path") ? "workload.data.path" : "workload.data", wrong.what());
  }
}

}  // namespace

Dataset Blueprint::load_data(const Scenario& scenario, unsigned threads) const {
  Dataset loaded =
      with_data_place(scenario, [&] { return data_entry->load(scenario.workload.data.parameters, base, scenario.seed, threads); });
  if (evaluation.set == EvaluationSet::validation) hold_out_validation(loaded, validation_share, scenario.seed);
  loaded.augment = augment;
  return loaded;
}

std::vector<std::filesystem::path> Blueprint::data_files(const Scenario& scenario) const {
  if (!data_entry->files) return {};
  return with_data_place(scenario, [&] { return data_entry->files(scenario.workload.data.parameters, base); });
}

Key Blueprint::data_content(const Scenario& scenario) const {
  const Key content =
      with_data_place(scenario, [&] { return content_of(*data_entry, scenario.workload.data.parameters, base, scenario.seed); });
  if (evaluation.set != EvaluationSet::validation) return content;
  return Hasher().add(content).add("validation").add(validation_share).add(scenario.seed).key();
}

Blueprint::Blueprint(const Scenario& scenario, const std::string& kernel_set, Values)
    : scheme_entry(&Registry<SchemeEntry>::instance().at(scenario.training.scheme.name)),
      data_entry(&Registry<DataEntry>::instance().at(scenario.workload.data.name)),
      partition_entry(&Registry<PartitionEntry>::instance().at(scenario.workload.partition.name)),
      kernels(&select_kernels(kernel_set)),
      base(scenario.file.parent_path()) {
  resolve_data(scenario);
  resolve_workload(scenario);
  resolve_streams(scenario);
}

Blueprint::Blueprint(const Scenario& scenario, const std::string& kernel_set, const WhatIf& changes)
    : Blueprint(scenario, kernel_set, Values{}) {
  what_if = changes;
  plan.newest_weights = what_if.newest_weights;
  resolve_training(scenario);
  resolve_compression(scenario);
  resolve_cluster(scenario);
  resolve_collective(scenario);
  check_memory(scenario);
  faults(scenario);  // these throw on what is wrong with them
  token_buckets(scenario);
  background(scenario);
}

void Blueprint::resolve_data(const Scenario& scenario) {
  data = with_data_place(scenario, [&] {
    const Parameters& parameters = scenario.workload.data.parameters;
    return data_entry->inspect_seeded ? data_entry->inspect_seeded(parameters, base, scenario.seed) : data_entry->inspect(parameters, base);
  });
  if (scenario.training.evaluate.split == EvaluateSpec::Split::validation && has_data())
    data.train -= static_cast<std::size_t>(std::llround(validation_share * static_cast<double>(data.train)));
  check_against_data(scenario, data);
  augment = {static_cast<std::size_t>(scenario.workload.augment.crop), scenario.workload.augment.flip};
  at_place(scenario, "workload.data.augment", [&] {
    check_augmentation(augment, data.shape);
    return 0;
  });
}

/// A model of these data. Throws std::invalid_argument if its sizes overflow.
std::unique_ptr<Model> Blueprint::make_model(const Kind& kind) const {
  auto made = Registry<ModelEntry>::instance().at(kind.name).make(kind.parameters, data, ModelSetting{*kernels, numerics.precision});
  check_size(*made);
  return made;
}

/// The model that learns, if there are samples to learn from.
void Blueprint::resolve_model(const Scenario& scenario) {
  if (!has_data()) return;
  model = at_place(scenario, "workload.model", [&] {
    const ModelEntry& entry = Registry<ModelEntry>::instance().at(scenario.workload.model.name);
    if (data.vocabulary && !entry.words)
      throw std::invalid_argument(entry.name + " does not learn from pairs of words, which data " + scenario.workload.data.name +
                                  " has; take model skipgram, or other data");
    return make_model(scenario.workload.model);
  });
  if (scenario.workload.weights.empty()) return;
  try {
    start = read_model_weights(scenario.workload.weights, *model, scenario.seed);
  } catch (const DataError& wrong) {
    throw_error(scenario, "workload.model.weights", wrong.what());
  }
  if (!start.absent.empty())
    start_note = fmt::format("{} lacks {} of the model's running statistics (the first is '{}'): they start as without a file",
                             scenario.workload.weights, start.absent.size(), start.absent.front());
}

void Blueprint::resolve_workload(const Scenario& scenario) {
  numerics = numerics_of(scenario);
  resolve_model(scenario);
  const CostSpec& spec = scenario.workload.cost;
  if (spec.bytes) {
    model_bytes = static_cast<std::uint64_t>(*spec.bytes);
    cost.input_bytes = 4 * static_cast<double>(data.features);
    return;
  }
  at_place(scenario, spec.model ? "workload.cost.model" : "workload.model", [&] {
    const CostModelEntry* const known = spec.model ? Registry<CostModelEntry>::instance().find(spec.model->name) : nullptr;
    if (known) {
      cost = known->make(spec.model->parameters);
    } else {
      const Kind& kind = spec.model ? *spec.model : scenario.workload.model;
      const ModelEntry& entry = Registry<ModelEntry>::instance().at(kind.name);
      if (!has_data())
        throw std::invalid_argument("the cost of " + entry.name +
                                    " follows from the shape of its samples, and there is no data; name data, " +
                                    "or a model with a list of layers, such as resnet50_imagenet");
      cost = cost_table(*make_model(kind));
      cost.input_bytes = 4 * static_cast<double>(data.features);
    }
    return 0;
  });
  model_bytes = number_bytes() * cost.parameters();
  if (scenario.workload.exchange_statistics) statistics_bytes = 4 * cost.statistics;
}

PartitionRequest Blueprint::partition_request(const Scenario& scenario) const {
  PartitionRequest request;
  request.seed = scenario.seed;
  request.workers = static_cast<std::size_t>(scenario.workers());
  request.samples = data.train;
  request.classes = data.classes;
  request.reshuffle = scenario.workload.reshuffle;
  return request;
}

/// Settings that need a known number of samples.
void Blueprint::refuse_epochs(const Scenario& scenario) const {
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
std::vector<std::uint64_t> Blueprint::whole_passes(const Scenario& scenario) const {
  if (data.train == 0) refuse_epochs(scenario);
  std::vector<std::uint64_t> out;
  for (Rank worker = 0; worker < plan.workers; ++worker) {
    const auto batch = static_cast<double>(plan.batch_of(worker));
    const double batches = std::round(static_cast<double>(data.train) / static_cast<double>(plan.workers) / batch);
    out.push_back(static_cast<std::uint64_t>(std::max(batches, 1.0) * batch));
  }
  return out;
}

void Blueprint::resolve_streams(const Scenario& scenario) {
  plan.endless = !has_data();
  if (!plan.endless)
    streams = at_place(scenario, "workload.data.partition",
                       [&] { return partition_entry->sizes(scenario.workload.partition.parameters, partition_request(scenario)); });
  plan.workers = static_cast<Rank>(scenario.workers());
}

void Blueprint::resolve_training(const Scenario& scenario) {
  const auto& training = scenario.training;
  const std::int64_t workers = scenario.workers();
  if (scheme_entry->only_workers && workers != *scheme_entry->only_workers)
    throw_error(scenario, "training.scheme",
                scheme_entry->name + " runs on " + std::to_string(*scheme_entry->only_workers) + " worker, the cluster has " +
                    std::to_string(workers) + "; make it one group of `count: 1`, or take another scheme");
  if (const std::string why = scheme_entry->unfit(training.scheme.parameters, plan); !why.empty())
    throw_error(scenario, "training.scheme", why);
  if (const Parameters& of_scheme = training.scheme.parameters; of_scheme.has("clients") && of_scheme.count("clients") > workers)
    throw_error(scenario, "training.scheme.clients",
                "is " + std::to_string(of_scheme.count("clients")) + ", and there are " + std::to_string(workers) +
                    "; take as many or fewer, or add workers");
  scheme = at_place(scenario, "training.scheme", [&] { return scheme_entry->make(training.scheme.parameters); });
  if (training.batch.global) {
    const auto batches = EvenSplit<std::int64_t>::of(*training.batch.global, workers);
    plan.batch = batches.least;
    plan.larger_batches = batches.larger;
  } else {
    plan.batch = *training.batch.per_worker;
  }
  plan.minibatch = scheme_entry->minibatch(training.scheme.parameters).value_or(0);
  plan.cell_chunks = scheme_entry->cell_chunks(training.scheme.parameters).value_or(0);
  plan.versions = scheme_entry->versions(training.scheme.parameters);
  plan.drop_last = training.batch.drop_last;
  const bool whole = numerics.precision == Precision::fp32;
  plan.fuse =
      scenario.workload.fuse && !(model && model->couples_samples()) && whole;  // each worker's gradient is rounded before it is sent
  plan.rounding = whole ? nullptr : numerics.precision == Precision::fp16 ? &rules::as_fp16 : &rules::as_bf16;
  plan.seed = scenario.seed;
  plan.invited = scheme_entry->invited(training.scheme.parameters, plan);
  plan.selection = scheme_entry->selection(training.scheme.parameters);
  plan.train_samples = data.train;
  plan.shared_stream = streams.shared;
  plan.stream_samples = plan.endless ? whole_passes(scenario) : streams.sizes;
  if (plan.drop_last && !plan.endless) {
    const auto parts = static_cast<std::uint64_t>(workers);
    const std::uint64_t smallest =
        streams.shared ? (data.train + parts - 1) / parts : *std::min_element(streams.sizes.begin(), streams.sizes.end());
    if (smallest < static_cast<std::uint64_t>(plan.batch_of(0)))
      throw_error(scenario, "training.batch.drop_last",
                  "a worker's part of the data, " + std::to_string(smallest) +
                      " samples, is less than one batch, so no batch would be left; take a smaller batch or drop_last: false");
  }
  plan.epoch_samples = plan.endless ? data.train : 0;
  if (plan.shared_stream) plan.epoch_samples = plan.pass_samples(0);
  // What is dropped belongs to no epoch.
  for (Rank worker = 0; worker < plan.workers && !plan.shared_stream && !plan.endless; ++worker)
    plan.epoch_samples += plan.pass_samples(worker);

  const auto& schedule = training.schedule;
  const double total = training.stop.epochs.value_or(std::numeric_limits<double>::infinity());
  const Schedule::Shape shape = at_place(scenario, "training.schedule", [&] {
    return Registry<ScheduleEntry>::instance().at(schedule.kind.name).make(schedule.kind.parameters, total);
  });
  optimizer = at_place(scenario, "training.optimizer", [&] {
    return Registry<OptimizerEntry>::instance()
        .at(training.optimizer.name)
        .make(training.optimizer.parameters, Schedule(shape, schedule.scale_with_workers, schedule.warmup_epochs));
  });
  plan.optimizer = optimizer.get();
  if (const std::optional<OptimizerChoice> outer = scheme_entry->outer_optimizer(training.scheme.parameters)) {
    const OptimizerEntry& entry = Registry<OptimizerEntry>::instance().at(outer->kind);
    const auto constant = [](double) { return 1.0; };
    outer_optimizer = at_place(scenario, "training.scheme", [&] {
      return entry.make(complete(entry.parameters, outer->parameters), Schedule(constant, Schedule::Scaling::none, 0));
    });
    plan.outer_optimizer = outer_optimizer.get();
  }
  plan.statistics = numerics.dynamic() || (model && model->statistics() > 0);
  plan.input_bytes = cost.input_bytes;
  plan.output_bytes = static_cast<double>(number_bytes() * data.classes);

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

template <class Part>
void Blueprint::for_root(const Scenario& scenario, const std::optional<Key>& content, const Part& part) const {
  const WorkloadSpec& spec = scenario.workload;
  part("seed", [&](Hasher& to) { to.add("straggler root").add(scenario.seed); });
  part("kernel set", [&](Hasher& to) { to.add(kernels->name); });
  part("workload.data", [&](Hasher& to) {
    if (content)
      to.add(*content);
    else
      add(to, spec.data);
  });
  part("workload.data.partition", [&](Hasher& to) {
    if (streams.content != Key{})
      to.add(spec.partition.name).add(streams.content);
    else
      add(to, spec.partition);
  });
  part("number of workers", [&](Hasher& to) { to.add(static_cast<std::uint64_t>(plan.workers)); });
  part("workload.data.reshuffle", [&](Hasher& to) { to.add(std::uint64_t{spec.reshuffle}); });
  part("workload.data.augment", [&](Hasher& to) {
    if (augment.any()) to.add("augment").add(std::uint64_t{augment.crop}).add(std::uint64_t{augment.flip});
  });
  // Nothing of these in fp32, so that keys stay what they were.
  const bool narrow = numerics.precision != Precision::fp32;
  part("workload.precision", [&](Hasher& to) {
    if (narrow) to.add(precision_choice.name_of(spec.precision));
  });
  part("workload.loss_scale", [&](Hasher& to) {
    if (narrow) to.add(spec.loss_scale).add(std::uint64_t{numerics.growth_every});
  });
  part("workload.batch_norm.exchange", [&](Hasher& to) {
    if (model && model->statistics() > 0) to.add("batch_norm").add(std::uint64_t{spec.exchange_statistics});
  });
  part("workload.model.weights", [&](Hasher& to) {
    if (!start.values.empty()) to.add("weights").add_bytes(start.values.data(), start.values.size() * sizeof(float));
  });
  part("workload.model", [&](Hasher& to) { add(to, spec.model); });
}

Key Blueprint::root_key(const Scenario& scenario, const std::optional<Key>& content) const {
  Hasher hasher;
  for_root(scenario, content, [&](const char* /*place*/, const auto& add_part) { add_part(hasher); });
  return hasher.key();
}

std::vector<RootPart> Blueprint::root_parts(const Scenario& scenario, const std::optional<Key>& content) const {
  std::vector<RootPart> parts;
  for_root(scenario, content, [&](const char* place, const auto& add_part) {
    Hasher hasher;
    add_part(hasher);
    parts.push_back({place, hasher.key()});
  });
  return parts;
}

}  // namespace straggler
