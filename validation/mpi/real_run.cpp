#include "validation/mpi/real_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "scenarios/experiment/math_plane.hpp"
#include "scenarios/experiment/run_checkpoint.hpp"
#include "scenarios/report/run_page.hpp"
#include "scenarios/results/recorder.hpp"
#include "scenarios/results/replaced.hpp"
#include "scenarios/results/results.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/writer.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/shown_text.hpp"
#include "validation/mpi/freed_memory.hpp"
#include "validation/mpi/mpi_backend.hpp"
#include "validation/mpi/progress.hpp"
#include "validation/mpi/rank_checkpoint.hpp"
#include "validation/mpi/suitability.hpp"

namespace straggler {

namespace fs = std::filesystem;

namespace {

std::atomic<bool> interrupt_came{false};
static_assert(std::atomic<bool>::is_always_lock_free);
extern "C" void note_interrupt(int signal) {
  interrupt_came = true;
  std::signal(signal, SIG_DFL);  // the next one ends the process
}

struct Failure {
  int code = Exit::done;
  std::vector<std::string> lines;
};

Failure failure_of(const std::function<void()>& part) {
  const auto line = [](const char* what) { return std::vector{"straggler-mpi: " + std::string(what)}; };
  try {
    part();
  } catch (const ScenarioErrors& errors) {
    return {errors.exit, errors.lines()};
  } catch (const Refusal& refusal) {
    return {refusal.exit, line(refusal.what())};
  } catch (const std::bad_alloc&) {
    return {Exit::cannot_go_on, line("the machine's memory is exhausted; start fewer ranks on it, or take a smaller model or data set")};
  } catch (const std::exception& error) {
    return {Exit::cannot_go_on, line(error.what())};
  }
  return {};
}

class RankValues final : public Values {
 public:
  RankValues(Lineage& lineage, Executor& executor, const TrainingPlan& plan)
      : lineage_(lineage), executor_(executor), plan_(plan), algebra_(lineage, plan) {}
  std::span<const float> of(const Handle& handle) override { return executor_.value(handle); }
  Handle named(const Key& key) override { return lineage_.leaf(key); }
  void give(const Handle& handle, std::span<const float> values) override { executor_.give(handle, values); }
  std::shared_ptr<const float> hold(const Handle& handle) override { return executor_.hold(handle); }
  LentFloats lend() override { return executor_.lend(); }
  void give(const Handle& handle, LentFloats values) override { executor_.give(handle, std::move(values)); }
  bool has(const Handle& handle) const override {
    const LineageNode* const node = handle.node();
    return node && (node->evaluated || node->formula.kind != Formula::Kind::leaf);
  }
  Handle moved(const Handle& from, const Handle& move) override { return algebra_.moved(from, move); }
  Handle product(const Handle& factors, const std::vector<double>& scalars) override {
    Handle handle = lineage_.elementwise(*plan_.compression->factors->product, std::array{factors}, scalars);
    executor_.value(handle);  // `factors` go
    return handle;
  }

 private:
  Lineage& lineage_;
  Executor& executor_;
  const TrainingPlan& plan_;
  Algebra algebra_;
};

/// One rank's share of a run, in the order in which it goes.
class RankRun {
 public:
  RankRun(const Mpi& mpi, const RealOptions& options)
      : mpi_(mpi), options_(options), progress_(mpi.first() && options.progress && !options.quiet) {}

  /// The work that concerns only this rank: reads, checks, loads; on the rank that writes results, claims their folder.
  void prepare() {
    scenario_ = read_scenario(options_.scenario, options_.sets);
    if (options_.seed) scenario_.seed = *options_.seed;
    blueprint_ = std::make_unique<Blueprint>(scenario_, options_.kernels);
    blueprint_->plan.fuse = false;  // a gradient is computed where its samples are
    blueprint_->plan.ring_sums = true;
    refuse_what_is_simulated_only(scenario_, *blueprint_, options_.emulated);
    if (options_.checkpoints()) refuse_to_save(scenario_, *blueprint_);
    chosen_ = name_the_ring(scenario_, *blueprint_);
    has_server_ = blueprint_->scheme_entry->needs_server(scenario_.training.scheme.parameters);
    check_ranks();
    if (mpi_.first()) claim_folder();
    progress_.stage("loading data");
    math_ = std::make_unique<MathPlane>(*blueprint_, scenario_);
    root_ = blueprint_->root_key(scenario_, blueprint_->data_content(scenario_));
    if (mpi_.first() && options_.checkpoints()) open_checkpoint();
    progress_.stage("waiting for the other ranks");
  }

  /// If the scenario leaves the algorithm open, the predicted one may differ from the one that runs.
  void print_algorithm() const {
    if (!chosen_.empty() && !options_.quiet && mpi_.first())
      fmt::print(stderr,
                 "straggler-mpi: all-reduce by ring, as always on real ranks; collective.algorithm auto would simulate {} (compare with "
                 "--set cluster.network.collective.algorithm=ring)\n",
                 chosen_);
  }

  /// Refuses ranks that would not compute the same.
  void meet() {
    channel_ = std::make_unique<Channel>(mpi_, has_server_ ? std::optional(publisher()) : std::nullopt);
    Hasher hasher;
    hasher.add(root_).add(write_scenario(scenario_)).add(version()).add(compiler()).add(std::uint64_t{options_.emulated});
    // Files are equal everywhere; generated data may differ with the processor or the C library.
    if (!blueprint_->data_entry->files)
      for (const DataSplit* split : {&math_->data->train, &math_->data->test})
        hasher.add_bytes(split->inputs.memory().data(), split->inputs.memory().size());
    const Key mine = hasher.key();
    Packer packer;
    packer.put(mine);
    const Bytes theirs = channel_->share(packer.take(), publisher());
    if (Unpacker(theirs).get_key() != mine)
      throw Refusal(
          fmt::format("rank {} differs from rank 0 in scenario, data, build or kernel set (here {}); give every rank the same, with "
                      "--kernels where processors differ",
                      mpi_.rank(), blueprint_->kernels->name));
    build();
    if (options_.checkpoints()) take_up();
    print_algorithm();
  }

  void run() {
    std::signal(SIGINT, note_interrupt);
    std::signal(SIGTERM, note_interrupt);
    progress_.stage("running");
    if (checkpoint_ && checkpoint_->saves() && !resumed_) save(Time(), 0, {lineage_->initial()});  // also: when the job began
    const auto start = std::chrono::steady_clock::now();
    backend_->run();
    wall_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  /// The first rank books the logs of all ranks.
  void finish() {
    progress_.stage("evaluating");
    backend_->gather_own_versions();
    const std::vector<Bytes> logs = channel_->gather(to_bytes(backend_->log()), publisher());
    if (!mpi_.first()) return;
    RunCourse course = backend_->course();
    for (const Bytes& log : logs) course.logs.push_back(log_from(log));
    Recorder sink(*folder_, true, false);
    RunRecorder recorder(static_cast<std::size_t>(blueprint_->plan.workers), blueprint_->plan.epoch_samples, blueprint_->stop,
                         blueprint_->evaluation, executor_.get(), &sink, false);
    book(course, blueprint_->evaluation.every_time, recorder);
    for (std::size_t rank = 0; rank < course.logs.size(); ++rank)
      for (const std::int32_t choice : course.logs[rank].choices) sink.choice(static_cast<Rank>(rank), choice);
    RunRecord& record = recorder.record();
    name_record(record, scenario_, *blueprint_);
    evaluate_final(record, *executor_, *lineage_, recorder.latest()->value, *blueprint_);
    compare_with_guessing(record, guessing_accuracy(*math_->data));
    const std::span<const float> values = executor_->value(recorder.latest()->value).first(executor_->model_length());  // without registers
    const std::vector<float> weights(values.begin(), values.end());
    if (options_.emulated) warn_of_overruns(record, course.logs);
    if (resumed_)
      record.warnings.push_back(
          fmt::format("the job continued from update {}: the time before counts as down, and bytes before do not count", *resumed_));
    sink.finish(*folder_, scenario_.name);
    write(record, weights);
    print_summary(record);
    if (record.outcome == Outcome::interrupted) exit_code_ = Exit::interrupted;
  }
  int exit_code() const { return exit_code_; }

 private:
  Rank publisher() const { return has_server_ ? blueprint_->plan.workers : 0; }

  void check_ranks() const {
    const int needed = ranks_needed(scenario_, *blueprint_);
    if (mpi_.size() == needed) return;
    throw Refusal(fmt::format("{} of {} workers takes {} ranks ({}), but there {} {}; start mpirun -n {}", scenario_.training.scheme.name,
                              scenario_.workers(), needed,
                              blueprint_->plan.aggregation.count() > 0 ? "one a worker, one for the server, one an aggregator"
                              : has_server_                            ? "one a worker and one for the server"
                                                                       : "one a worker",
                              mpi_.size() == 1 ? "is" : "are", mpi_.size(), needed));
  }

  void open_checkpoint() {
    const fs::path out = options_.out.value_or(fs::path("results") / scenario_.name);
    CheckpointRequest request;
    try {
      request = checkpoint_beside(out, version(), compiler());
    } catch (const std::invalid_argument& error) {
      throw Refusal(error.what());
    }
    CheckpointOptions settings;
    settings.file = request.file;
    settings.interval = options_.checkpoint_every;
    settings.resume = options_.resume;
    Hasher hasher;
    hasher.add(write_scenario(scenario_));
    settings.identity = {hasher.key(), root_, std::string(blueprint_->kernels->name), request.build};
    settings.tell = [this, file = request.file](const CheckpointNote& note) { tell(note, file); };
    checkpoint_ = std::make_unique<RankCheckpoint>(std::move(settings));
    checkpoint_file_ = request.file;
  }

  void tell(const CheckpointNote& note, const fs::path& file) const {
    if (options_.quiet && note.what != CheckpointNote::What::failed) return;
    const std::string text = note.what == CheckpointNote::What::found
                                 ? fmt::format("continues from {} ({}, update {})", file.string(),
                                               readable_bytes(static_cast<double>(note.bytes)), readable_count(note.version))
                                 : checkpoint_text(note, file);
    fmt::print(stderr, "straggler-mpi: {}\n", shown_text(text));
  }

  void save(Time now, std::uint64_t version, const std::vector<Handle>& vectors) {
    const auto system = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t began = std::chrono::duration_cast<std::chrono::nanoseconds>(system).count() - now.ticks() / 1000;
    checkpoint_->write(version, began, vectors, *values_);
  }

  /// All ranks continue from the state that the first one has read, if there was one.
  void take_up() {
    const RankState* const state = checkpoint_ && checkpoint_->state() ? &*checkpoint_->state() : nullptr;
    Packer head;
    if (state) {
      head.put(state->version);
      for (const Key& key : state->keys) head.put(key);
    }
    const Bytes shared = channel_->share(head.take(), publisher());
    if (shared.empty()) return;
    EarlierState earlier;
    Unpacker from(shared);
    resumed_ = from.get<std::uint64_t>();
    WeightsState& weights = earlier.weights.edit();
    weights.version = *resumed_;
    for (std::size_t k = 0; !from.done(); ++k) {
      const Handle vector = values_->named(from.get_key());
      Packer floats;
      if (state) floats.put_floats(state->vectors[k]);
      const Bytes content = channel_->share(floats.take(), publisher());
      values_->give(vector, Unpacker(content).get_floats(gradient_->length()));
      (k == 0 ? weights.value : earlier.optimizer.emplace_back()) = vector;
    }
    if (state) earlier.began = state->began;
    if (checkpoint_) checkpoint_->forget();
    backend_->continue_from(std::move(earlier));
  }

  void claim_folder() {
    ResultFolder::Request request;
    request.out = options_.out.value_or(fs::path("results") / scenario_.name);
    request.scenario_name = scenario_.name;
    request.scheme = scenario_.training.scheme.name;
    request.scenario_file = scenario_.file;
    request.force = options_.force;
    if (request.out.empty()) throw Refusal("--out is empty; name a folder");
    folder_ = std::make_unique<ResultFolder>(request);
    if (const std::string note = replaced_results(request.out, scenario_, false); !note.empty() && !options_.quiet)
      fmt::print(stderr, "note: {}\n", note);
  }

  void build() {
    lineage_ = std::make_unique<Lineage>(Math::lazy, root_);
    ExecutorOptions settings;
    settings.threads = 1;
    settings.memory_budget =
        static_cast<std::size_t>(0.75 * static_cast<double>(this_machine().memory_bytes)) / static_cast<unsigned>(mpi_.size());
    executor_ = math_->executor(*lineage_, settings);
    values_ = std::make_unique<RankValues>(*lineage_, *executor_, blueprint_->plan);
    gradient_ = std::make_unique<SingleGradient>(*blueprint_->model, *math_->data, *math_->partition, *blueprint_->kernels, scenario_.seed,
                                                 blueprint_->numerics);
    thread_ = std::make_unique<ComputeThread>(*gradient_, options_.emulated, [this] { channel_->wake(); });
    RankTask task{.plan = blueprint_->plan, .scheme = *blueprint_->scheme};
    task.has_server = has_server_;
    task.reduces = blueprint_->scheme_entry->all_reduces(scenario_.training.scheme.parameters);
    task.votes = blueprint_->scheme_entry->exchange(scenario_.training.scheme.parameters) == Exchange::all_reduce;
    task.emulated = options_.emulated;
    task.compute = blueprint_->cluster(scenario_).compute;
    task.stop = blueprint_->stop;
    task.evaluation = blueprint_->evaluation;
    task.interrupted = &interrupt_came;
    const std::size_t length = gradient_->length();
    const std::size_t parameters = blueprint_->model->parameters();
    task.cut = {length, blueprint_->model->statistics() > 0 ? parameters : length, parameters};
    if (blueprint_->compression) {
      codec_ = {blueprint_->compressor, blueprint_->model->tensors()};
      task.cut.codec = &codec_;
    }
    task.published = [this](Time now, const Weights& weights) { print_progress(now, *weights.operator->()); };
    if (checkpoint_ && checkpoint_->saves())
      task.go_on = [this](Time now, const Weights& weights, const std::vector<Handle>& optimizer) {
        if (!checkpoint_->due(weights->version)) return;
        std::vector<Handle> vectors = {weights->value};
        vectors.insert(vectors.end(), optimizer.begin(), optimizer.end());
        save(now, weights->version, vectors);
      };
    backend_ = std::make_unique<MpiBackend>(std::move(task), *channel_, *lineage_, *values_, *thread_);
  }

  void print_progress(Time now, const WeightsState& weights) {
    const double epochs = static_cast<double>(weights.progress) / static_cast<double>(blueprint_->plan.epoch_samples);
    progress_.published(weights.version, epochs, blueprint_->stop.fraction_done(weights.version, epochs, now));
  }

  static void warn_of_overruns(RunRecord& record, const std::vector<RankLog>& logs) {
    Overruns all;
    for (const RankLog& log : logs) {
      all.gradients += log.overruns.gradients;
      all.late += log.overruns.late;
      all.ticks += log.overruns.ticks;
      all.worst = std::max(all.worst, log.overruns.worst);
    }
    if (all.late == 0) return;
    record.warnings.push_back(
        fmt::format("{} of {} gradients took longer to compute than their simulated duration, by {} on average and {} at most: real "
                    "compute time is in the result; take a slower device, a smaller model or fewer ranks a core",
                    all.late, all.gradients, readable_seconds(Time::from_ticks(all.ticks).seconds() / static_cast<double>(all.late)),
                    readable_seconds(Time::from_ticks(all.worst).seconds())));
  }

  void write(const RunRecord& record, const std::vector<float>& weights) const {
    write_record(*folder_, record);
    write_file(*folder_, "scenario.yaml", write_scenario(scenario_));
    write_model(*folder_, all_tensors(*blueprint_->model), weights, blueprint_->data.vocabulary.get());
    RunInfo info{wall_seconds_, record.events, 1, std::string(blueprint_->kernels->name)};
    info.engine = blueprint_->model->engine();
    info.real = RealRunInfo{mpi_.size(), options_.emulated ? "emulated" : "real", "ring"};
    info.real->resumed = resumed_;
    write_file(*folder_, "run.json", run_json(info));
    write_file(*folder_, "report.html", run_page(folder_->temporary("")));
    folder_->commit();
    if (checkpoint_ && finish_checkpoint(checkpoint_file_, record.outcome == Outcome::interrupted) && !options_.quiet)
      fmt::print(stderr, "straggler-mpi: {} is kept: --resume continues from it\n", shown_text(checkpoint_file_.string()));
  }

  void print_summary(const RunRecord& record) const {
    if (!options_.quiet)
      for (const std::string& warning : record.warnings) fmt::print(stderr, "warning: {}\n", shown_text(warning));
    fmt::print("{}: {} on {} ranks, {}, {} measured, {} updates, test accuracy {:.4f}, train loss {:.4f}; results in {}\n",
               shown_text(record.name), record.scheme, mpi_.size(), name_of(record.outcome), readable_seconds(record.end.seconds()),
               record.updates, record.final_test_accuracy.value_or(0), record.final_train_loss.value_or(0),
               shown_text(folder_->out().string()));
    std::fflush(stdout);
  }

  const Mpi& mpi_;
  const RealOptions& options_;
  RankProgress progress_;
  Scenario scenario_;
  bool has_server_ = false;
  std::string chosen_;  // the all-reduce that `auto` takes in the simulation, if that is no ring
  double wall_seconds_ = 0;
  int exit_code_ = Exit::done;
  std::unique_ptr<Blueprint> blueprint_;
  std::unique_ptr<ResultFolder> folder_;  // where results are written
  std::unique_ptr<MathPlane> math_;
  Key root_;  // of all values
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<Lineage> lineage_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<RankValues> values_;
  std::unique_ptr<SingleGradient> gradient_;
  std::unique_ptr<ComputeThread> thread_;
  Codec codec_;                                 // of compressed vectors
  std::unique_ptr<RankCheckpoint> checkpoint_;  // on the first rank, if it saves or resumes
  fs::path checkpoint_file_;
  std::optional<std::uint64_t> resumed_;  // the version from which the job continues; none: it begins
  std::unique_ptr<MpiBackend> backend_;
};

}  // namespace

int run_on_all_ranks(const Mpi& mpi, const std::function<void()>& part) {
  const Failure failure = failure_of(part);
  const Mpi::Verdict verdict = mpi.agree(failure.code);
  if (verdict.rank == mpi.rank())
    for (const std::string& line : failure.lines) fmt::print(stderr, "{}\n", shown_text(line));
  return verdict.code;
}

int real_run(const Mpi& mpi, const RealOptions& options) {
  keep_freed_memory();
  RankRun run(mpi, options);
  if (const int code = run_on_all_ranks(mpi, [&] { run.prepare(); })) return code;
  if (const int code = run_on_all_ranks(mpi, [&] { run.meet(); })) return code;
  if (const int code = run_on_all_ranks(mpi, [&] { run.run(); })) return code;
  if (const int code = run_on_all_ranks(mpi, [&] { run.finish(); })) return code;
  return mpi.agree(run.exit_code()).code;
}

}  // namespace straggler
