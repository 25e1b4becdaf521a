#include "scenarios/experiment/experiment.hpp"

#include <algorithm>
#include <optional>

#include "models/data/blocks.hpp"
#include "models/executor/remote.hpp"
#include "scenarios/experiment/alone.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/math_plane.hpp"
#include "scenarios/experiment/memory.hpp"
#include "scenarios/experiment/noise_scale.hpp"
#include "scenarios/experiment/replay.hpp"
#include "scenarios/experiment/stored_trajectory.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/writer.hpp"
#include "sim/base/machine.hpp"
#include "sim/simulated/simulated_backend.hpp"
#include "sim/training/late_schemes.hpp"

namespace straggler {

namespace {

/// For a first pass over the timing, of which nothing is shown.
class Silent final : public ProgressListener {
 public:
  explicit Silent(ProgressListener* other) : other_(other) {}
  void progress(const State& /*state*/) override {}
  bool interrupted() override { return other_ && other_->interrupted(); }

 private:
  ProgressListener* const other_;
};

}  // namespace

struct Experiment::Implementation {
  Implementation(const Scenario& given, const RunOptions& chosen)
      : scenario(given), options(chosen), blueprint(scenario, options.kernels, options.what_if) {
    if (!options.timing_only && !blueprint.has_data())
      throw_error(scenario, "workload.data", "there is no data to learn from; add --timing-only, or name a data set");
    if (!options.replay) return;
    replay = read_replay(*options.replay, scenario, blueprint,
                         [this](const WorkloadBlueprint& of, const Scenario& named) { return content(of, named); });
    if (replay.real) follow(*replay.real);
  }

  /// Sets the run up as on those real ranks.
  void follow(const RealRun& real);
  RunRecord run(RecordSink* sink, ProgressListener* progress);
  std::unique_ptr<Checkpointing> checkpointing(Executor& executor, const Lineage& lineage) const;
  FromStore run_from_store(ProgressListener* progress);
  /// Key of the data; none for timing alone, where data files may be missing.
  std::optional<Key> content(const WorkloadBlueprint& of, const Scenario& named);
  Key root_key() { return blueprint.root_key(scenario, content(blueprint, scenario)); }
  MathPlane load_math(const Key& root);
  /// As guessing_accuracy(), kept in the store. `data`: those of this run, once they are loaded; else they are read if the store lacks it.
  std::optional<double> guess(const Dataset* data);
  double gradient_flops() const;
  UpdatePatience patience() const;
  void simulate(Lineage& lineage, RunRecorder& recorder, Evaluator* evaluator, ProgressListener* progress,
                const std::function<bool()>& busy);
  std::size_t train_subset() const { return static_cast<std::size_t>(scenario.training.evaluate.train_samples); }
  void describe(RunRecord& record, const Network& network) const;
  PartitionFacts partition_facts() const;
  /// After the last choice of the file a replay is free, so that one that is cut off would go unnoticed.
  void compare_with_replayed(RunRecord& record) const;

  Scenario scenario;
  RunOptions options;
  Blueprint blueprint;
  Replay replay;
  DataCache names;  // where no data sets are shared
  std::vector<float> final_weights;
  ExecutorStatistics computed;
  RemoteThreads* remote = nullptr;
  std::optional<std::uint64_t> known_version;  // up to which the store has values to continue from; none: it was not looked up
  Key known_root;                              // of the trajectory that this is about
  Key final_root, final_key;                   // of weights that the store may have
};

void Experiment::Implementation::follow(const RealRun& real) {
  blueprint.plan.fuse = false;
  blueprint.plan.ring_sums = true;
  if (real.updates == 0)
    throw DataError((*options.replay / "summary.json").string() +
                    ": the real run ended before its first update, so there is nothing to replay; let it run for longer");
  blueprint.stop.simulated_time.reset();  // time passes differently here
  // It may have been interrupted: after its last update there is nothing to follow.
  blueprint.stop.updates = std::min(real.updates, blueprint.stop.updates.value_or(real.updates));
}

std::unique_ptr<Checkpointing> Experiment::Implementation::checkpointing(Executor& executor, const Lineage& lineage) const {
  const CheckpointRequest& request = *options.checkpoint;
  Hasher hasher;
  hasher.add(write_scenario(scenario)).add(std::uint64_t{replay.real.has_value()});
  for (const std::vector<std::int32_t>& choices : replay.choices)
    hasher.add(std::uint64_t{choices.size()}).add_bytes(choices.data(), choices.size() * sizeof(std::int32_t));
  if (!replay.makers.empty()) hasher.add_bytes(replay.makers.data(), replay.makers.size() * sizeof(Rank));
  if (const std::string code = late_code(scenario.training.scheme.name); !code.empty()) hasher.add(std::string_view(code));
  CheckpointOptions settings;
  settings.file = request.file;
  settings.interval = request.interval;
  settings.resume = request.resume;
  settings.identity = {hasher.key(), lineage.root(), std::string(blueprint.kernels->name), request.build};
  settings.tell = request.tell;
  return std::make_unique<Checkpointing>(executor, lineage, std::move(settings));
}

UpdatePatience Experiment::Implementation::patience() const {
  double counts = 1;
  for (const auto& [name, value] : scenario.training.scheme.parameters.all())
    if (const auto* const count = std::get_if<std::int64_t>(&value); count && *count > 1) counts *= static_cast<double>(*count);
  return UpdatePatience::of(counts, blueprint.stop.epochs.value_or(0));
}

/// The timing plane from start to stop. `evaluator` and `progress` may be null. `busy` sets how long the run must not be interrupted; may
/// be empty.
void Experiment::Implementation::simulate(Lineage& lineage, RunRecorder& recorder, Evaluator* evaluator, ProgressListener* progress,
                                          const std::function<bool()>& busy) {
  if (scenario.recovers()) recorder.has_failures();
  SimulatedBackend backend(blueprint.cluster(scenario), blueprint.plan, *blueprint.scheme, lineage, recorder, evaluator);
  if (!replay.choices.empty()) backend.replay(replay.choices);
  backend.replay_versions(replay.makers);
  if (!blueprint.stop.simulated_time) backend.expect_updates(patience(), blueprint.stop.updates ? Goal::updates : Goal::samples);
  RecordSink* const trace = recorder.trace();
  const auto bytes_of = [&](std::size_t link) { return backend.network().use(static_cast<LinkId>(link)).bytes; };
  if (progress || trace) {
    const auto asked = progress ? progress->pulse() : std::nullopt;
    backend.simulation().set_pulse(asked.value_or(trace ? 16 : 256), [&] {
      if (trace) trace->links(backend.simulation().now(), backend.network().links(), bytes_of);
      if (!progress) return;
      ProgressListener::State state;
      state.time = backend.simulation().now();
      state.epochs = recorder.epochs();
      state.updates = recorder.latest()->version;
      state.samples = recorder.latest()->progress;
      state.fraction = recorder.fraction_done(state.time);
      if (!recorder.record().curve.empty()) {
        const CurvePoint& last = recorder.record().curve.back();
        state.test_accuracy = last.test_accuracy;
        if (blueprint.data.symbols > 0) state.test_perplexity = perplexity(last.test_loss);
      }
      progress->progress(state);
      if (progress->interrupted() && !(busy && busy())) backend.interrupt();
    });
  }
  try {
    backend.run(blueprint.stop.simulated_time, blueprint.evaluation.every_time);
  } catch (const Deadlock& deadlock) {
    throw RunFailed(deadlock.what());
  } catch (const NoUpdates& none) {
    throw RunFailed(none.what());
  } catch (const Standstill& still) {
    throw RunFailed(still.what());
  } catch (const TooManyFailures& many) {
    throw RunFailed(many.what());
  } catch (const ReplayMismatch& mismatch) {
    throw DataError((*options.replay / "choices.csv").string() + ": " + mismatch.what());
  } catch (const UnsupportedOperation& refused) {
    throw_error(scenario, "training.scheme", refused.what());
  } catch (const CountedTwice& wrong) {
    throw_error(scenario, "training.scheme", wrong.what());
  } catch (const TimeOverflow& overflow) {
    throw RunFailed(std::string(overflow.what()) + "; set an earlier stop, or look for a device or link that is far too slow");
  }
  describe(recorder.record(), backend.network());
}

std::optional<Key> Experiment::Implementation::content(const WorkloadBlueprint& of, const Scenario& named) {
  if (options.timing_only) return std::nullopt;
  return (options.data ? *options.data : names).content(of, named);
}

/// Results of data other than `root` names would stay in the store for good.
MathPlane Experiment::Implementation::load_math(const Key& root) {
  MathPlane math(blueprint, scenario, thread_count(options.threads), options.data);
  if (root_key() != root) throw_error(scenario, "workload.data", files_changed);
  return math;
}

std::optional<double> Experiment::Implementation::guess(const Dataset* data) {
  if (!options.store) return guessing_accuracy(*data);
  const Key key = Hasher().add("guessing accuracy").add(*content(blueprint, scenario)).add(math_stamp()).key();
  if (const std::optional<Evaluation> known = options.store->find(key))
    return known->accuracy > 0 ? std::optional(known->accuracy) : std::nullopt;
  const std::shared_ptr<const Dataset> read =
      data != nullptr ? nullptr : (options.data ? *options.data : names).load(blueprint, scenario, thread_count(options.threads));
  const std::optional<double> share = guessing_accuracy(data != nullptr ? *data : *read);
  options.store->keep(key, {0, share.value_or(0)});
  return share;
}

/// Of one sample: backward costs about two forward passes.
double Experiment::Implementation::gradient_flops() const {
  double flops = 0;
  for (const LayerCost& layer : blueprint.model->cost()) flops += 3 * layer.forward_flops;
  return flops;
}

RunRecord Experiment::Implementation::run(RecordSink* sink, ProgressListener* progress) {
  const bool measures = scenario.training.evaluate.noise_scale && !options.timing_only;
  const bool stores = options.store && !options.timing_only && !options.checkpoint && !measures;
  if (measures && options.checkpoint)
    throw_error(scenario, "training.evaluate.noise_scale",
                "cannot be measured in a run that is saved; leave out --checkpoint, or this key");
  const std::size_t most = options.memory_budget > 0 ? options.memory_budget : usable_memory() / 4 * 3;
  const std::size_t for_values = options.timing_only ? 0 : bytes_for_values(blueprint, most);
  const Key root = root_key();
  if (stores && !(known_version && known_root == root)) {
    Silent silent(progress);
    run_from_store(&silent);
  }
  std::optional<MathPlane> math;
  if (!options.timing_only) math.emplace(load_math(root));
  Lineage lineage(math ? Math::lazy : Math::none, root);
  std::optional<StoredValues> values;
  std::unique_ptr<Executor> executor;
  std::optional<SavePoints> points;
  std::optional<StoringEvaluator> storing;
  if (stores) values.emplace(*options.store, lineage);
  if (math) {
    ExecutorOptions settings;
    settings.threads = options.threads;
    settings.choose_threads = options.choose_threads;
    settings.memory_budget = for_values;
    settings.known = values ? &*values : nullptr;
    if (remote) settings.remote = remote->begin(root, blueprint.model->length() + blueprint.numerics.registers());
    executor = math->executor(lineage, settings);
  }
  if (stores) {
    points.emplace(*executor, lineage, *values, options.saving, gradient_flops(), *known_version);
    storing.emplace(*options.store, *executor, lineage, *points, train_subset(), *known_version);
  }
  std::unique_ptr<Checkpointing> saves;
  if (executor && options.checkpoint) saves = checkpointing(*executor, lineage);
  Evaluator* evaluator = saves ? static_cast<Evaluator*>(saves.get()) : storing ? static_cast<Evaluator*>(&*storing) : executor.get();
  std::optional<NoiseProbe> probe;
  if (measures)
    evaluator = &probe.emplace(*evaluator, *executor, lineage, blueprint.streams, blueprint.plan.workers, blueprint.plan.batches.usual(0),
                               blueprint.model->parameters());
  RunRecorder recorder(static_cast<std::size_t>(blueprint.plan.workers), blueprint.plan.epoch_samples, blueprint.stop, blueprint.evaluation,
                       evaluator, sink, options.trace);
  // Before it has caught up there are no values that results could be made of, and little to wait for.
  simulate(lineage, recorder, evaluator, progress, [&] { return saves && saves->catching_up(); });
  if (saves) saves->finish();
  RunRecord& record = recorder.record();
  compare_with_replayed(record);
  if (executor) {
    evaluate_final(record, storing ? static_cast<Evaluator&>(*storing) : *executor, lineage, recorder.latest()->value, blueprint);
    compare_with_guessing(record, guess(math->data.get()));
    if (probe) record.noise_scale = probe->samples();
    const std::span<const float> values = executor->value(recorder.latest()->value).first(executor->model_length());  // without registers
    final_weights.assign(values.begin(), values.end());
    computed = executor->statistics();
  }
  return std::move(record);
}

Experiment::FromStore Experiment::Implementation::run_from_store(ProgressListener* progress) {
  Lineage lineage(Math::none, root_key());
  const StoredValues values(*options.store, lineage);
  KnownEvaluations known(*options.store, values, train_subset(), blueprint.numerics.dynamic());
  RunRecorder recorder(static_cast<std::size_t>(blueprint.plan.workers), blueprint.plan.epoch_samples, blueprint.stop, blueprint.evaluation,
                       &known, nullptr, false);
  simulate(lineage, recorder, &known, progress, {});
  evaluate_final(recorder.record(), known, lineage, recorder.latest()->value, blueprint);
  known_version = known.known_version();
  known_root = lineage.root();
  final_root = value_root(lineage.root(), math_stamp());
  final_key = recorder.latest()->value.key();
  FromStore out;
  out.missing = known.missing();
  out.found = known.found();
  if (!out.missing.empty()) return out;
  compare_with_guessing(recorder.record(), guess(nullptr));
  out.record = std::move(recorder.record());
  return out;
}

void Experiment::Implementation::compare_with_replayed(RunRecord& record) const {
  if (const auto& end = replay.simulated;
      end && end->timing_only == options.timing_only && record.updates == end->updates && record.weights_key != end->weights_key)
    record.warnings.push_back(
        "the replay ends with other weights than the original run: its choices do not fit this cluster and its faults; replay it with the "
        "cluster and faults of that run");
  if (!replay.real || options.timing_only || record.updates != replay.real->updates || record.weights_key == replay.real->weights_key)
    return;
  record.warnings.push_back("the replay ends with other weights than the real run (weights_key " + record.weights_key.value_or("none") +
                            ", not " + replay.real->weights_key + "): " + (*options.replay / "choices.csv").string() +
                            " is not as that run wrote it");
}

void Experiment::Implementation::describe(RunRecord& record, const Network& network) const {
  name_record(record, scenario, blueprint);
  record.alone = rate_alone(scenario, blueprint);
  struct Used {
    double bytes;
    Time busy;
  };
  struct Uses {
    std::vector<LinkId> ids;  // ascending; idle clients' links are not among them. Empty: all links
    std::vector<Used> used;
    std::vector<QueueUse> queues;  // empty unless messages were packets
  };
  const auto is_used = [](const LinkUse& use) { return use.bytes != 0 || use.busy != Time(); };
  record.links.size = blueprint.fabric->links();
  record.links.queues = network.packets();
  record.links.losses = network.losses();
  std::size_t used_links = 0;
  for (std::size_t id = 0; id < record.links.size; ++id) used_links += is_used(network.use(static_cast<LinkId>(id)));
  const bool all = 2 * used_links > record.links.size;
  const auto uses = std::make_shared<Uses>();
  uses->used.reserve(all ? record.links.size : used_links);
  for (std::size_t place = 0; place < record.links.size; ++place) {
    const auto id = static_cast<LinkId>(place);
    const LinkUse use = network.use(id);
    if (!all && !is_used(use)) continue;
    if (!all) uses->ids.push_back(id);
    uses->used.push_back({use.bytes, use.busy});
    if (record.links.queues) uses->queues.push_back(network.queue(id));
  }
  /// Its place among those used; none: it was not.
  const auto place_of = [uses](std::size_t id) -> std::optional<std::size_t> {
    if (uses->ids.empty()) return id < uses->used.size() ? std::optional(id) : std::nullopt;
    const auto place = std::lower_bound(uses->ids.begin(), uses->ids.end(), id);
    if (place == uses->ids.end() || *place != id) return std::nullopt;
    return static_cast<std::size_t>(place - uses->ids.begin());
  };
  record.links.load = [fabric = blueprint.fabric, uses, place_of](std::size_t id) {
    const std::optional<std::size_t> place = place_of(id);
    return std::pair(place ? uses->used[*place].bytes : 0, fabric->bytes_per_second(static_cast<LinkId>(id)));
  };
  record.links.row = [fabric = blueprint.fabric, uses, place_of, seconds = record.end.seconds()](std::size_t id) {
    const LinkDescription link = fabric->link(static_cast<LinkId>(id));
    LinkRecord row;
    row.name = link.name;
    row.from = link.from;
    row.to = link.to;
    row.bytes_per_second = link.bytes_per_second;
    const std::optional<std::size_t> place = place_of(id);
    if (!place) return row;
    row.bytes = uses->used[*place].bytes;
    row.busy = uses->used[*place].busy;
    if (uses->queues.empty()) return row;
    row.longest_queue_bytes = uses->queues[*place].longest_bytes;
    row.lost_packets = uses->queues[*place].lost_packets;
    row.timeouts = uses->queues[*place].timeouts;
    row.mean_queue_bytes = seconds > 0 ? uses->queues[*place].byte_seconds / seconds : 0;
    return row;
  };
}

Experiment::Experiment(const Scenario& scenario, const RunOptions& options)
    : implementation_(std::make_unique<Implementation>(scenario, options)) {}
Experiment::~Experiment() = default;

void Experiment::compute_with(RemoteThreads& remote) { implementation_->remote = &remote; }

RunRecord Experiment::run(RecordSink* sink, ProgressListener* progress) { return implementation_->run(sink, progress); }
Experiment::FromStore Experiment::run_from_store(ProgressListener* progress) { return implementation_->run_from_store(progress); }

std::vector<float> Experiment::final_weights() const {
  const Implementation& all = *implementation_;
  if (!all.final_weights.empty() || !all.options.store) return all.final_weights;
  std::vector<float> values(all.blueprint.model->length() + all.blueprint.numerics.registers());
  if (!all.options.store->find_value(all.final_root, all.final_key, values)) return {};
  values.resize(all.blueprint.model->length());
  return values;
}

std::vector<TensorInfo> Experiment::tensors() const { return all_tensors(*implementation_->blueprint.model); }
std::uint64_t Experiment::recomputed() const { return implementation_->computed.remade; }
const ExecutorStatistics& Experiment::computed() const { return implementation_->computed; }
const WordList* Experiment::vocabulary() const { return implementation_->blueprint.data.vocabulary.get(); }
const char* Experiment::kernels() const { return implementation_->blueprint.kernels->name.data(); }

std::string Experiment::engine() const {
  const std::unique_ptr<Model>& model = implementation_->blueprint.model;
  return model ? std::string(model->engine()) : std::string();
}

void Experiment::write_graph(const std::string& path) const {
  try {
    straggler::write_graph(implementation_->blueprint.fabric->topology(), path);
  } catch (const std::exception& wrong) {
    throw DataError(wrong.what());
  }
}

/// Labels are looked at only where the partition follows them, and where there may be any.
PartitionFacts Experiment::Implementation::partition_facts() const {
  const StreamSizes& sizes = blueprint.streams;
  PartitionFacts facts;
  facts.pool = sizes.shared;
  facts.parts = sizes.sizes.size();
  facts.smallest = sizes.shared ? sizes.total : facts.parts == 0 ? 0 : *std::min_element(sizes.sizes.begin(), sizes.sizes.end());
  facts.largest = sizes.shared ? sizes.total : facts.parts == 0 ? 0 : *std::max_element(sizes.sizes.begin(), sizes.sizes.end());
  const bool random = sizes.shared || scenario.workload.partition.name == "iid";
  if (options.timing_only || random || blueprint.data.vocabulary || blueprint.data.symbols > 0) return facts;
  const MathPlane math(blueprint, scenario, thread_count(options.threads), options.data);
  facts.labels = label_skew(*math.partition, math.data->train.labels, blueprint.data.classes);
  return facts;
}

std::vector<CollectiveTime> Experiment::collective_times() const {
  return implementation_->blueprint.collective_times(implementation_->scenario);
}

Explanation Experiment::explain() const {
  const Implementation& all = *implementation_;
  return straggler::explain(all.scenario, all.blueprint, all.blueprint.has_data() ? all.partition_facts() : PartitionFacts());
}

}  // namespace straggler
