// Formats `kineto` and `torch_cpu`: what PyTorch's profiler recorded, a file a rank.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/formats/reading.hpp"
#include "scenarios/import/import_format.hpp"
#include "scenarios/import/loader_turns.hpp"
#include "scenarios/import/timed_job.hpp"
#include "scenarios/import/trace_companions.hpp"
#include "scenarios/import/trace_meetings.hpp"
#include "scenarios/import/trace_steps.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"

namespace straggler::import_trace {
namespace {

struct RankTrace {
  std::int64_t rank = 0;
  std::string file, shown;  // its name; with its folder or archive
  TorchTrace trace;         // without its lists of spans
  TraceSteps steps;
  bool gpu = false;
};

class Job {
 public:
  Job(std::string format, const std::vector<GivenFile>& files, const Companions& companions) : companions_(companions) {
    job_.format = std::move(format);
    for (const GivenFile& file : files) add(file);
    for (const RankTrace& each : ranks_) refuse_other_job(ranks_.front().shown, ranks_.front().trace, each.shown, each.trace);
    number_ranks();
    job_.name = import_name(files, {"trace", "rank0", "worker0"});
    for (const RankTrace& each : ranks_) job_.from.push_back(each.file);
    size_t whole = ranks_.front().steps.steps.size();
    for (const RankTrace& each : ranks_) whole = std::min(whole, each.steps.steps.size());
    for (RankTrace& each : ranks_) each.steps.steps.resize(whole);
  }

  Imported imported() {
    sharded_ = foreign_ = false;
    for (const RankTrace& each : ranks_)
      for (const TraceStep& step : each.steps.steps)
        for (const TraceStep::Collective& collective : step.collectives) {
          const bool shards = collective.kind == TraceCollective::all_gather || collective.kind == TraceCollective::reduce_scatter;
          sharded_ = sharded_ || (each.trace.sharded && shards);
          foreign_ = foreign_ || collective.kind == TraceCollective::all_to_all || (shards && !each.trace.sharded);
        }
    drop_warm_up();
    refuse_unrelated(companions_, exchanged(), first().file);
    find_workers();
    describe();
    if (binds())
      loader_job();
    else
      fill_ranks();
    meet();
    fill_buckets();
    add_companions(job_, companions_, !sharded_ && !foreign_);
    fill_facts();
    sentences();
    return imported_job(std::move(job_));
  }

 private:
  void add(const GivenFile& file) {
    RankTrace& made = ranks_.emplace_back();
    made.file = file.path().filename().string();
    made.shown = file.shown().string();
    made.trace = read_torch_trace(file);
    made.steps = steps_of(made.trace, made.shown);
    made.gpu = made.trace.has_gpu();
    made.trace.computing = {};
    made.trace.launches = {};
    made.trace.backwards = {};
  }

  /// By the files' own numbers, or else in the order of their names.
  void number_ranks() {
    std::set<std::int64_t> seen;
    bool all = true;
    for (const RankTrace& each : ranks_) all = all && each.trace.rank && seen.insert(*each.trace.rank).second;
    if (ranks_.size() > 1 && !all && seen.size() < ranks_.size() &&
        std::ranges::all_of(ranks_, [](const RankTrace& each) { return each.trace.rank.has_value(); }))
      throw DataError(fmt::format("{}: two files are of the same rank; give one of each", ranks_.front().shown));
    if (ranks_.size() > 1 && !all) {
      std::ranges::stable_sort(ranks_, {}, &RankTrace::file);
      job_.assumed.emplace_back("ranks in the order of the files' names: the files do not say theirs");
    }
    for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].rank = all ? *ranks_[i].trace.rank : static_cast<std::int64_t>(i);
    std::ranges::stable_sort(ranks_, {}, &RankTrace::rank);
  }

  bool binds() const { return ranks_.size() == 1 && ranks_.front().steps.loader_binds && ranks_.front().steps.steps.size() >= 6; }
  bool all_there() const { return static_cast<std::int64_t>(ranks_.size()) == job_.workers; }
  std::string absent() const {
    std::set<std::int64_t> there;
    for (const RankTrace& each : ranks_) there.insert(each.rank);
    return absent_ranks(there, job_.workers);
  }
  const RankTrace& first() const { return ranks_.front(); }
  bool on_gpu() const { return first().steps.clock == TraceSteps::Clock::gpu; }

  /// First steps that are far longer than the usual one: compilation, empty queues.
  void drop_warm_up() {
    if (binds()) return;
    std::vector<double> longest(first().steps.steps.size());
    for (const RankTrace& each : ranks_)
      for (std::size_t i = 0; i < longest.size(); ++i) longest[i] = std::max(longest[i], each.steps.steps[i].seconds);
    const double usual = median_seconds(longest);
    std::size_t drop = 0;
    while (drop + 2 < longest.size() && longest[drop] > 1.5 * usual) ++drop;
    for (RankTrace& each : ranks_)
      each.steps.steps.erase(each.steps.steps.begin(), each.steps.steps.begin() + static_cast<std::ptrdiff_t>(drop));
    if (drop > 0) job_.said.emplace_back("left out", fmt::format("the first {} step{}: warm-up", drop, drop == 1 ? "" : "s"));
  }

  void find_workers() {
    std::int64_t world = static_cast<std::int64_t>(ranks_.size());
    bool known = ranks_.size() > 1;
    for (const RankTrace& each : ranks_) {
      if (each.trace.world) {
        world = std::max(world, *each.trace.world);
        known = true;
      }
    }
    if (!known && companions_.execution && companions_.execution->ranks) {
      world = std::max(world, *companions_.execution->ranks);
      known = true;
    }
    for (const TorchTrace::Collective& each : first().trace.collectives)
      if (each.group && *each.group >= 1 && *each.group < 1e7 && !known) world = std::max(world, static_cast<std::int64_t>(*each.group));
    const bool communicates = !first().trace.collectives.empty();
    if (!known && communicates && world == 1) {
      world = 2;
      job_.assumed.emplace_back("2 ranks");
      job_.missing.emplace_back("the number of ranks");
    }
    job_.workers = world;
  }

  void describe() {
    const bool gpu = first().gpu;
    const char* kind = sharded_ ? "FSDP" : foreign_ ? "model and data parallel" : job_.workers > 1 ? "DDP" : "one";
    job_.what = job_.workers == 1 ? fmt::format("a job on {}", first().trace.device.empty() ? "one device" : first().trace.device)
                                  : fmt::format("a {} job of {} ranks{}", kind, job_.workers,
                                                first().trace.device.empty() ? "" : " on " + first().trace.device);
    const std::size_t steps = first().steps.steps.size();
    job_.where = fmt::format("{} of {} step{}", ranks_.size() == 1 ? fmt::format("rank {}, mean", first().rank) : "mean", steps,
                             steps == 1 ? "" : "s");
    job_.work_of_host = gpu && !on_gpu();  // without a GPU the host computes, the longer the larger a batch
    if (!gpu) job_.said.emplace_back("clock", "steps from optimizer to optimizer, on the CPU");
    if (gpu && on_gpu()) job_.said.emplace_back("clock", "a step is the time between the first kernels of two steps: the host runs ahead");
    if (gpu && !on_gpu() && !first().steps.loader_binds)
      job_.said.emplace_back("clock", "the host's: the GPU waits for it more than half of the time");
  }

  static double mean_over(const std::vector<TraceStep>& steps, double (*figure)(const TraceStep&)) {
    double sum = 0;
    for (const TraceStep& step : steps) sum += figure(step);
    return sum / static_cast<double>(steps.size());
  }

  void fill_ranks() {
    const std::size_t count = first().steps.steps.size();
    for (std::size_t i = 0; i < count; ++i) {
      double longest = 0;
      for (const RankTrace& each : ranks_) longest = std::max(longest, each.steps.steps[i].seconds);
      job_.steps.push_back(longest);
    }
    job_.step = mean_seconds(job_.steps);
    for (const RankTrace& each : ranks_) {
      const std::vector<TraceStep>& steps = each.steps.steps;
      TimedRank rank;
      rank.rank = each.rank;
      rank.forward = mean_over(steps, [](const TraceStep& step) { return step.forward; });
      rank.backward = mean_over(steps, [](const TraceStep& step) { return step.backward; });
      rank.update = mean_over(steps, [](const TraceStep& step) { return step.update; });
      rank.loader = mean_over(steps, [](const TraceStep& step) { return step.loader; });
      rank.rest = std::max(0.0, mean_over(steps, [](const TraceStep& step) { return step.rest(); }));
      if (sharded_ || foreign_) busy_rank(steps, rank);
      job_.ranks.push_back(rank);
    }
    if (ranks_.size() > 1 && all_there() && !sharded_ && !foreign_) uneven_steps();
  }

  /// Where the slowest rank is another one in each step, a step is longer than that of the means.
  void uneven_steps() {
    std::vector<std::vector<double>> seconds;
    for (const RankTrace& each : ranks_) {
      std::vector<double>& own = seconds.emplace_back();
      for (const TraceStep& step : each.steps.steps) own.push_back(step.forward + step.backward + std::max(0.0, step.rest()));
    }
    job_.jitter = step_factors(seconds);
  }

  /// Where computing waits for collectives in its midst, spans of phases contain them: what counts is the time without.
  void busy_rank(const std::vector<TraceStep>& steps, TimedRank& rank) const {
    const double computing = mean_over(steps, [](const TraceStep& step) { return step.computing; });
    const double alone = mean_over(steps, [](const TraceStep& step) { return step.seconds - (step.communicating - step.hidden); });
    const double work = sharded_ && on_gpu() ? computing : alone;
    const double phases = rank.forward + rank.backward;
    const double share = phases > 0 ? rank.forward / phases : 1.0 / 3;
    rank.forward = work * share;
    rank.backward = work - rank.forward;
    rank.update = rank.loader = rank.rest = 0;
  }

  // --- a loader that binds

  void loader_job() {
    const std::vector<TraceStep>& steps = first().steps.steps;
    const LoaderTurns turns = loader_turns(steps);
    const std::size_t processes = std::max<std::size_t>(turns.processes, 1), from = turns.from;
    if (turns.processes == 0) {
      job_.missing.emplace_back("the number of loader processes: its waits do not repeat");
      job_.assumed.emplace_back("one loader process");
    }
    const std::size_t whole = (steps.size() - from) / processes * processes;
    for (std::size_t i = from; i < from + whole; ++i) job_.steps.push_back(steps[i].seconds);
    job_.step = mean_seconds(job_.steps);
    job_.loader = TimedLoader{static_cast<std::int64_t>(processes), job_.step * static_cast<double>(processes)};
    job_.where = fmt::format("steps {} to {}", from + 1, from + whole);

    TimedRank rank;
    rank.rank = first().rank;
    const double computing = mean_over(steps, [](const TraceStep& step) { return step.computing; });
    const double forward = mean_over(steps, [](const TraceStep& step) { return step.forward; });
    const double backward = mean_over(steps, [](const TraceStep& step) { return step.backward; });
    const double update = mean_over(steps, [](const TraceStep& step) { return step.update; });
    const double host = forward + backward + update;
    const double work = first().trace.events > 0 && computing > 0 ? computing : host;
    rank.forward = host > 0 ? work * forward / host : work;
    rank.backward = host > 0 ? work * backward / host : 0;
    rank.update = host > 0 ? work * update / host : 0;
    job_.ranks.push_back(rank);
    job_.work_of_host = computing == 0;
    job_.said.emplace_back("loader", fmt::format("binds: {} processes take {} a batch each; computing takes {}", processes,
                                                 readable_seconds(job_.loader->batch_seconds), readable_seconds(work)));
    double waiting = 0, all = 0;
    for (const TraceStep& step : steps) {
      waiting += step.loader;
      all += step.seconds;
    }
    job_.facts["loader"] = {{"processes", processes}, {"batch_s", job_.loader->batch_seconds}, {"waiting_share", waiting / all}};
    job_.facts["computing_s"] = work;
  }

  // --- collectives

  void meet() {
    if (ranks_.size() < 2 || binds()) return;
    std::vector<RankSteps> all;
    for (const RankTrace& each : ranks_) all.push_back({each.rank, each.trace.base, &each.steps.steps});
    meetings_ = meetings_of(all);
    if (!meetings_.differ.empty()) job_.missing.push_back("waits: " + meetings_.differ);
  }

  /// The all-reduces of gradients in a step: those that begin in backward.
  static std::vector<const TraceStep::Collective*> gradients_of(const TraceStep& step) {
    std::vector<const TraceStep::Collective*> all;
    for (const TraceStep::Collective& each : step.collectives)
      if (each.kind == TraceCollective::all_reduce && each.ready >= 0) all.push_back(&each);
    return all;
  }

  /// Numbers that DistributedDataParallel exchanges in a step, of which the trace may have cut one; 0: not known.
  double exchanged() const {
    double most = 0;
    if (sharded_ || foreign_) return 0;
    for (const TraceStep& step : first().steps.steps) {
      double sum = 0;
      for (const TraceStep::Collective* each : gradients_of(step)) sum += each->elements.value_or(NAN);
      if (std::isnan(sum)) return 0;
      most = std::max(most, sum);
    }
    return most;
  }

  void fill_buckets() {
    if (job_.workers < 2) return;
    if (sharded_ || foreign_) return one_bucket();
    const std::size_t slowest = static_cast<std::size_t>(std::ranges::max_element(job_.ranks, {}, &TimedRank::work) - job_.ranks.begin());
    const std::vector<TraceStep>& steps = ranks_[slowest].steps.steps;
    std::vector<std::size_t> counts;
    for (const TraceStep& step : steps) counts.push_back(gradients_of(step).size());
    std::ranges::sort(counts);
    const std::size_t count = counts[counts.size() / 2];
    const double backward = job_.ranks[slowest].backward;
    for (std::size_t b = 0; b < count; ++b) {
      TimedBucket bucket;
      std::vector<double> ready, seconds;
      for (std::size_t s = 0; s < steps.size(); ++s) {
        const auto gradients = gradients_of(steps[s]);
        if (gradients.size() != count) continue;
        ready.push_back(gradients[b]->ready);
        const std::size_t at = static_cast<std::size_t>(gradients[b] - steps[s].collectives.data());
        seconds.push_back(meetings_.steps.empty() ? gradients[b]->seconds() : meetings_.steps[s][at].least);
        bucket.elements = gradients[b]->elements;
        bucket.element_bytes = gradients[b]->element_bytes;
      }
      bucket.ready = backward > 0 ? std::clamp(mean_seconds(ready) / backward, 0.0, 1.0) : 1;
      bucket.seconds = mean_seconds(seconds);
      job_.buckets.push_back(bucket);
    }
    job_.holds_waiting = meetings_.steps.empty() || !all_there();
  }

  /// What a scenario cannot express stands for one exchange behind backward, as long as a step is longer than its work.
  void one_bucket() {
    double elements = 0, most = 0;
    std::optional<int> width;
    for (const TraceStep::Collective& each : first().steps.steps.back().collectives)
      if (each.kind == TraceCollective::all_reduce || each.kind == TraceCollective::reduce_scatter) {
        elements += each.elements.value_or(0);
        if (each.element_bytes) width = each.element_bytes;
      }
    for (const TimedRank& rank : job_.ranks) most = std::max(most, rank.work());
    TimedBucket bucket;
    if (elements >= 1) bucket.elements = elements;
    bucket.element_bytes = width;
    bucket.seconds = std::max(0.0, job_.step - most);
    job_.buckets = {bucket};
    job_.overlap = false;
    job_.holds_waiting = meetings_.steps.empty() || !all_there();
  }

  // --- what is said

  void fill_facts() {
    Json& facts = job_.facts;
    const std::vector<TraceStep>& steps = first().steps.steps;
    if (first().gpu && !binds()) {
      Json gpu;
      gpu["computing_s"] = mean_over(steps, [](const TraceStep& step) { return step.computing; });
      gpu["communicating_s"] = mean_over(steps, [](const TraceStep& step) { return step.communicating; });
      gpu["hidden_s"] = mean_over(steps, [](const TraceStep& step) { return step.hidden; });
      gpu["exposed_s"] = mean_over(steps, [](const TraceStep& step) { return step.communicating - step.hidden; });
      gpu["idle_s"] = mean_over(
          steps, [](const TraceStep& step) { return std::max(0.0, step.seconds - step.computing - step.communicating + step.hidden); });
      const double busy = gpu["computing_s"].get<double>();
      job_.said.emplace_back(
          "GPU", fmt::format("rank {} computes {} of a step ({}), communicates {}, of which {} beside no computing", first().rank,
                             readable_seconds(busy), readable_share(busy / job_.step),
                             readable_seconds(gpu["communicating_s"].get<double>()), readable_seconds(gpu["exposed_s"].get<double>())));
      facts["gpu"] = std::move(gpu);
    }
    if (first().trace.world) facts["world_size"] = *first().trace.world;
    if (!first().trace.library.empty()) facts["nccl_version"] = on_one_line(first().trace.library);
    if (!first().trace.device.empty()) facts["device"] = on_one_line(first().trace.device);
    facts["collectives"] = collectives_json();
    facts["collectives_launched_before_the_trace"] = first().steps.before_trace;
    if (sharded_) sharded_facts();
    if (!meetings_.steps.empty()) waits_facts();
    if (!job_.buckets.empty() && !sharded_ && !foreign_) {
      std::vector<std::string> sizes;
      for (const TimedBucket& bucket : job_.buckets)
        sizes.push_back(
            bucket.elements && bucket.element_bytes
                ? fmt::format("{} in {}", readable_bytes(*bucket.elements * *bucket.element_bytes), readable_seconds(bucket.seconds))
                : fmt::format("? in {}", readable_seconds(bucket.seconds)));
      job_.said.emplace_back("buckets", some_of(sizes, 7));
    }
  }

  /// Those of the last step, in order.
  Json collectives_json() const {
    Json all = Json::array();
    const std::size_t s = first().steps.steps.size() - 1;
    const std::vector<TraceStep::Collective>& last = first().steps.steps[s].collectives;
    for (std::size_t c = 0; c < last.size(); ++c) {
      Json each{{"kind", name_of(last[c].kind)},
                {"elements", last[c].elements ? Json(std::llround(*last[c].elements)) : Json()},
                {"bytes", last[c].bytes() ? Json(std::llround(*last[c].bytes())) : Json()},
                {"seconds", last[c].seconds()}};
      if (!meetings_.steps.empty() && all_there()) {
        each["transfer_s"] = meetings_.steps[s][c].least;
        each["waits_s"] = meetings_.steps[s][c].waits;
        each["last_rank"] = ranks_[meetings_.steps[s][c].last].rank;
      }
      all.push_back(std::move(each));
    }
    return all;
  }

  void sharded_facts() {
    double gathered = 0, reduced = 0;
    std::size_t gathers = 0, reductions = 0;
    bool known = true;
    for (const TraceStep::Collective& each : first().steps.steps.back().collectives) {
      const double ranks = static_cast<double>(job_.workers);
      known = known && each.bytes();
      if (each.kind == TraceCollective::all_gather) gathered += each.bytes().value_or(0) * ranks, ++gathers;
      if (each.kind == TraceCollective::reduce_scatter) reduced += each.bytes().value_or(0), ++reductions;
    }
    job_.facts["sharding"] = {{"kind", "zero3"},
                              {"gathers", gathers},
                              {"reductions", reductions},
                              {"gathered_bytes", known ? Json(std::llround(gathered)) : Json()},
                              {"reduced_bytes", known ? Json(std::llround(reduced)) : Json()}};
    job_.said.emplace_back("sharded", fmt::format("as ZeRO 3: {} gathers ({}) and {} reductions ({}) a step", gathers,
                                                  readable_bytes(gathered), reductions, readable_bytes(reduced)));
  }

  void waits_facts() {
    std::vector<double> waits(ranks_.size());
    std::map<std::int64_t, std::size_t> last;
    for (const std::vector<Meeting>& step : meetings_.steps)
      for (const Meeting& met : step) {
        for (std::size_t r = 0; r < waits.size(); ++r) waits[r] += met.waits[r];
        ++last[ranks_[met.last].rank];
      }
    if (all_there()) who_waits(waits, last);
    job_.facts["clocks"] = {{"offsets_s", scaled(meetings_.offsets)}, {"residual_s", 1e-6 * meetings_.residual}};
    std::vector<double> begins;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      begins.push_back(ranks_[r].steps.steps.front().begin + ranks_[r].trace.base - ranks_[0].trace.base - meetings_.offsets[r]);
    const double first_begin = *std::ranges::min_element(begins);
    for (double& begin : begins) begin -= first_begin;
    begins = scaled(begins);
    const auto least = std::ranges::min_element(job_.ranks, {}, [](const TimedRank& rank) { return rank.wait.value_or(0); });
    if (const std::string late = late_begin(job_.ranks, static_cast<std::size_t>(least - job_.ranks.begin()), begins);
        all_there() && !late.empty())
      job_.said.emplace_back("waits", late);
    job_.facts["begins_s"] = std::move(begins);
    job_.said.emplace_back("clocks", fmt::format("aligned by ends of collectives, to {}", readable_seconds(1e-6 * meetings_.residual)));
  }
  void who_waits(const std::vector<double>& waits, const std::map<std::int64_t, std::size_t>& last) {
    for (std::size_t r = 0; r < waits.size(); ++r) job_.ranks[r].wait = waits[r] / static_cast<double>(meetings_.steps.size());
    const std::size_t least = static_cast<std::size_t>(std::ranges::min_element(waits) - waits.begin());
    const auto most = std::ranges::max_element(job_.ranks, {}, [](const TimedRank& rank) { return rank.wait.value_or(0); });
    if (*most->wait > 1e-6)
      job_.said.emplace_back("waits", fmt::format("rank {} waits least in collectives, {} a step; rank {} most, {}", ranks_[least].rank,
                                                  readable_seconds(*job_.ranks[least].wait), most->rank, readable_seconds(*most->wait)));
    Json came = Json::object();
    for (const auto& [rank, times] : last) came[std::to_string(rank)] = times;
    job_.facts["came_last"] = std::move(came);
  }
  static std::vector<double> scaled(std::vector<double> microseconds) {
    for (double& each : microseconds) each *= 1e-6;
    return microseconds;
  }

  void sentences() {
    if (first().steps.before_trace > 0)
      job_.said.emplace_back("left out", fmt::format("{} collectives that were launched before the trace", first().steps.before_trace));
    if (job_.workers > 1 && ranks_.size() == 1)
      job_.missing.emplace_back(
          "the other ranks: times of collectives contain waiting for them, which one rank cannot separate from transfer, so no link is "
          "fitted; "
          "give the traces of all ranks");
    else if (!all_there()) {
      if (const std::string longest = longest_work(job_.ranks); !longest.empty()) job_.said.emplace_back("work", longest);
      job_.missing.push_back(fmt::format(
          "the traces of {0}: times of collectives contain waiting for {0}, which cannot be separated from transfer, so no link is fitted, "
          "and who comes last of all ranks is not known; give the traces of all ranks",
          absent()));
    }
    for (const TimedBucket& bucket : job_.buckets)
      if (!bucket.elements) {
        job_.missing.emplace_back(job_.format == "torch_cpu"
                                      ? "bytes of all-reduces: give a torchinfo summary or a safetensors file of the model, too"
                                      : "bytes of all-reduces: record shapes (record_shapes=True)");
        break;
      }
    if (sharded_) job_.assumed.emplace_back("sharding as one exchange behind backward, as long as a step is longer than computing");
    if (foreign_)
      job_.assumed.emplace_back(
          "all-to-all cannot be expressed: a step's computing and its exchanges are measured times, one exchange behind backward");
    if (!job_.batch) job_.missing.emplace_back("samples of a batch");
  }

  const Companions& companions_;
  TimedJob job_;
  std::vector<RankTrace> ranks_;
  Meetings meetings_;  // of all ranks; empty: there is one, or they differ
  bool sharded_ = false, foreign_ = false;
};

Imported read_as(const char* format, const std::vector<GivenFile>& files, const Companions& companions = {}) {
  return Job(format, files, companions).imported();
}

const Register<ImportFormat> kineto(ImportFormat{
    .name = "kineto",
    .summary = "a trace of PyTorch's profiler (Kineto), a file a rank",
    .example = "with torch.profiler.profile(record_shapes=True) as p: …; p.export_chrome_trace(f\"rank{rank}.json\")",
    .yields = "a job",
    .parameters = {},
    .recognizes = is_kineto,
    .read = [](const std::vector<GivenFile>& files, const Parameters&) { return read_as("kineto", files); },
    .read_with = [](const std::vector<GivenFile>& files, const Parameters&,
                    const Companions& companions) { return read_as("kineto", files, companions); }});
const Register<ImportFormat> torch_cpu(ImportFormat{
    .name = "torch_cpu",
    .summary = "a trace of PyTorch's profiler without Kineto, a file a rank",
    .example = "the same with PyTorch 1.13 of Debian, on CPUs with gloo",
    .yields = "a job",
    .parameters = {},
    .recognizes = is_torch_cpu,
    .read = [](const std::vector<GivenFile>& files, const Parameters&) { return read_as("torch_cpu", files); },
    .read_with = [](const std::vector<GivenFile>& files, const Parameters&,
                    const Companions& companions) { return read_as("torch_cpu", files, companions); }});

}  // namespace
}  // namespace straggler::import_trace
