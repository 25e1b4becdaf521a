// Format `straggler_trace`: trace.json of a run with --trace, which has an event a line (scenarios/results/trace.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "scenarios/import/import_format.hpp"
#include "scenarios/import/timed_job.hpp"
#include "scenarios/results/trace.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/text_lines.hpp"
#include "sim/record/phase.hpp"

namespace straggler::import_run_trace {
namespace {

constexpr std::string_view begins = "{\"displayTimeUnit\": \"ms\",\n\"otherData\": {\"seen\": ";
constexpr std::size_t longest_line = 1 << 16, most_of_a_kind = TraceSampler::most_events;
constexpr double longest = 1e15;  // microseconds, 30 years
constexpr double forward_share = 1.0 / 3;

bool is_run_trace(const FileStart& start) { return start.bytes.starts_with(begins); }

/// In microseconds.
struct Piece {
  std::string name;
  double begin = 0, end = -1, bytes = 0;  // end: -1 while it has none; bytes: 0 where the trace rounds them
};
struct Activity {
  double begin = 0, length = 0;
  Phase phase{};
};

/// Seconds of one worker in one step.
struct Share {
  ByPhase<double> parts{};
  double begin = -1;  // of computing, from the step's begin; below 0: it does not compute
  double covered = 0;
};

class Trace {
 public:
  explicit Trace(const GivenFile& file) : shown_(file.shown().string()) {
    read(file);
    if (workers_.empty()) refuse("has no worker that computes; give the trace.json of a run");
    if (stale_) refuse("is of a run without common steps: gradients of older weights enter its updates; give that of a synchronous run");
    if (updates_.empty()) refuse("has no update; run more of them");
    for (const auto& [time, contributions] : updates_)
      if (contributions != workers_.size())
        refuse(fmt::format("is of a run in which the work of {} of {} workers enters an update; give that of a run in which all take part",
                           contributions, workers_.size()));
    number_spans();
  }

  Imported imported(const GivenFile& file) {
    job_.name = import_name(file, {"trace"});
    job_.format = "straggler_trace";
    job_.from = {file.path().filename().string()};
    find_steps();
    job_.what = fmt::format("a simulated run of {} worker{}", workers_.size(), workers_.size() == 1 ? "" : "s");
    job_.workers = static_cast<std::int64_t>(workers_.size());
    job_.where = fmt::format("mean of {} update{}", job_.steps.size(), job_.steps.size() == 1 ? "" : "s");
    job_.step = mean_seconds(job_.steps);
    behind_ = slowest_mean_behind();
    for (const std::int64_t worker : workers_) add_rank(worker);
    add_buckets();
    add_jitter();
    job_.missing.emplace_back("samples of a batch");
    return imported_job(std::move(job_));
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw DataError(shown_ + ": " + what); }

  // --- the file

  void read(const GivenFile& file) {
    GivenStream stream(file);
    std::string rest;
    std::size_t number = 0;
    for (std::string_view piece = stream.next(); !piece.empty(); piece = stream.next()) {
      for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
        rest += piece.substr(0, end);
        piece.remove_prefix(end + 1);
        line(rest, ++number);
        rest.clear();
      }
      rest += piece;
      if (rest.size() > longest_line) refuse("has a line longer than a run writes; give trace.json as the run wrote it");
    }
    if (trimmed(rest) == "]}") whole_ = true;  // without a line end
    if (!whole_) refuse("ends before its last event; give the whole file");
    for (const auto& [id, each] : pieces_)
      if (each.end < each.begin) refuse("has a collective that does not end; give trace.json as the run wrote it");
  }

  void line(std::string_view text, std::size_t number) {
    text = trimmed(text, " \t\r,");
    if (text == "]}") whole_ = true;
    if (!text.starts_with("{\"ph\":") && !text.starts_with("{\"name\":")) return;
    const Json event = Json::parse(text, nullptr, false);
    if (!event.is_object()) refuse(fmt::format("has no event in line {}; give trace.json as the run wrote it", number));
    const std::string phase = word(event, "ph"), name = word(event, "name");
    const double process = figure(event, "pid");
    if (phase == "X" && process == 0) span(event, name);
    if ((phase == "b" || phase == "e") && process == 2) collective(event, name, phase == "b");
    if (phase == "C" && name == "staleness") {
      stale_ = stale_ || (event.contains("args") && figure(event["args"], "value") > 0);
      if (++contributions_ > most_of_a_kind) refuse("has more than 1,000,000 contributions; give trace.json as the run wrote it");
      ++updates_[time_of(event, "ts")];
    }
  }

  static std::string word(const Json& from, const char* key) {
    const auto found = from.is_object() ? from.find(key) : from.end();
    return from.is_object() && found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
  }
  static double figure(const Json& from, const char* key) {
    if (!from.is_object()) return NAN;
    const auto found = from.find(key);
    return found != from.end() && found->is_number() ? found->get<double>() : NAN;
  }
  double time_of(const Json& event, const char* key) const {
    const double time = figure(event, key);
    if (!(time >= 0 && time <= longest)) refuse(fmt::format("has an event without its \"{}\"; give trace.json as the run wrote it", key));
    return time;
  }

  void span(const Json& event, const std::string& name) {
    const auto row = std::ranges::find_if(phase_rows, [&](const PhaseRow& each) { return name == each.name; });
    if (row == phase_rows.end()) return;  // of a server
    const double thread = figure(event, "tid");
    if (!(thread >= 0 && thread < 1e7)) refuse("has a worker without a number; give trace.json as the run wrote it");
    if (++spans_ > most_of_a_kind) refuse("has more than 1,000,000 spans; give trace.json as the run wrote it");
    activities_[static_cast<std::int64_t>(thread)].push_back({time_of(event, "ts"), time_of(event, "dur"), row->phase});
    if (row->phase == Phase::compute) workers_.insert(static_cast<std::int64_t>(thread));
  }

  void collective(const Json& event, const std::string& name, bool begin) {
    const double id = figure(event, "id");
    if (!(id >= 0 && id < 1e15)) refuse("has a collective without a number; give trace.json as the run wrote it");
    if (pieces_.size() >= most_of_a_kind) refuse("has more than 1,000,000 collectives; give trace.json as the run wrote it");
    Piece& piece = pieces_[static_cast<std::int64_t>(id)];
    piece.name = name;
    (begin ? piece.begin : piece.end) = time_of(event, "ts");
    const double bytes = event.contains("args") ? figure(event["args"], "bytes") : NAN;
    if (bytes >= 1 && bytes <= 1e15) piece.bytes = bytes;
  }

  // --- its steps

  void number_spans() {
    for (auto& [worker, activities] : activities_) std::ranges::stable_sort(activities, {}, &Activity::begin);
    std::ranges::for_each(pieces_, [&](const auto& each) { in_order_.push_back(&each.second); });
    std::ranges::stable_sort(in_order_, {}, [](const Piece* piece) { return piece->begin; });
  }

  /// From update to update. Where the trace is sampled, those are left out that it cuts: the spans of a worker leave no gap.
  void find_steps() {
    double from = 0;
    std::size_t cut = 0, piece = 0;
    std::map<std::int64_t, std::size_t> at;
    for (const auto& [to, contributions] : updates_) {
      std::vector<Share> shares;
      bool whole = true;
      for (const std::int64_t worker : workers_) {
        shares.push_back(share_of(worker, at[worker], from, to));
        whole =
            whole && shares.back().begin >= 0 && std::abs(shares.back().covered - 1e-6 * (to - from)) <= 1e-6 * 1e-6 * (to - from) + 1e-9;
      }
      while (piece < in_order_.size() && in_order_[piece]->begin < from) ++piece;
      std::vector<const Piece*> pieces;
      for (; piece < in_order_.size() && in_order_[piece]->begin <= to; ++piece) pieces.push_back(in_order_[piece]);
      if (whole) {
        job_.steps.push_back(1e-6 * (to - from));
        begins_.push_back(from);
        shares_.push_back(std::move(shares));
        step_pieces_.push_back(std::move(pieces));
      } else {
        ++cut;
      }
      from = to;
    }
    if (job_.steps.empty()) refuse("has no whole step in what it keeps; run fewer updates with --trace");
    if (cut > 0) job_.said.emplace_back("left out", fmt::format("{} steps that the trace does not have as a whole", cut));
  }

  Share share_of(std::int64_t worker, std::size_t& at, double from, double to) const {
    const auto found = activities_.find(worker);
    Share share;
    const std::vector<Activity>& all = found->second;
    while (at < all.size() && all[at].begin + all[at].length <= from) ++at;
    for (std::size_t i = at; i < all.size() && all[i].begin < to; ++i) {
      const double begin = std::max(all[i].begin, from), end = std::min(all[i].begin + all[i].length, to);
      if (!(end > begin)) continue;
      share.parts[all[i].phase] += 1e-6 * (end - begin);
      share.covered += 1e-6 * (end - begin);
      if (all[i].phase == Phase::compute && share.begin < 0) share.begin = 1e-6 * (begin - from);
    }
    return share;
  }

  static double computing(const Share& share) { return share.parts[Phase::compute] + share.parts[Phase::wasted]; }
  double mean_of(std::size_t worker, Phase phase) const {
    double sum = 0;
    for (const std::vector<Share>& step : shares_) sum += step[worker].parts[phase];
    return sum / static_cast<double>(shares_.size());
  }

  void add_rank(std::int64_t called) {
    const std::size_t worker = job_.ranks.size();
    TimedRank rank;
    rank.rank = static_cast<std::int64_t>(worker);
    if (called != rank.rank) rank.called = called;
    const double work = mean_of(worker, Phase::compute) + mean_of(worker, Phase::wasted);
    rank.forward = work * forward_share;
    rank.backward = work - rank.forward;
    rank.loader = mean_of(worker, Phase::loading);
    rank.wait = std::max(0.0, job_.step - behind_ - rank.work());
    job_.ranks.push_back(rank);
  }
  /// Seconds of a step behind the worker that works longest in it, in the mean.
  double slowest_mean_behind() const {
    double sum = 0;
    for (std::size_t s = 0; s < shares_.size(); ++s) {
      double most = 0;
      for (const Share& share : shares_[s]) most = std::max(most, computing(share) + share.parts[Phase::loading]);
      sum += std::max(0.0, job_.steps[s] - most);
    }
    return sum / static_cast<double>(shares_.size());
  }

  // --- what is sent

  /// All-reduces in pieces that are the same in each step are buckets; anything else is one exchange behind computing.
  void add_buckets() {
    job_.assumed.emplace_back("a third of computing is forward: the trace does not part it");
    if (workers_.size() < 2) return;
    const std::size_t count = step_pieces_.front().size();
    bool alike = count > 0;
    for (const std::vector<const Piece*>& pieces : step_pieces_) {
      alike = alike && pieces.size() == count;
      for (std::size_t i = 0; alike && i < count; ++i)
        alike = pieces[i]->name.starts_with("all-reduce") && pieces[i]->bytes == step_pieces_.front()[i]->bytes;
    }
    if (!alike) return one_exchange();
    bool overlap = false;
    for (std::size_t i = 0; i < count; ++i) {
      TimedBucket bucket;
      double seconds = 0, ready = 0;
      for (std::size_t s = 0; s < step_pieces_.size(); ++s) {
        const Piece& piece = *step_pieces_[s][i];
        const Share& slowest = *std::ranges::max_element(shares_[s], {}, [](const Share& share) { return share.begin + computing(share); });
        const double work = computing(slowest), begin = 1e-6 * (piece.begin - begins_[s]) - slowest.begin;
        seconds += 1e-6 * (piece.end - piece.begin);
        ready += work > 0 ? std::clamp((begin / work - forward_share) / (1 - forward_share), 0.0, 1.0) : 1;
      }
      const double steps = static_cast<double>(step_pieces_.size());
      bucket.seconds = seconds / steps;
      bucket.ready = ready / steps;
      overlap = overlap || bucket.ready < 0.9999;
      if (const double bytes = step_pieces_.front()[i]->bytes; bytes >= 4) {
        bucket.elements = bytes / 4;
        bucket.element_bytes = 4;
      }
      job_.buckets.push_back(bucket);
    }
    job_.overlap = overlap;
    std::vector<std::string> said;
    for (const TimedBucket& bucket : job_.buckets)
      said.push_back(
          fmt::format("{} in {}", bucket.elements ? readable_bytes(*bucket.elements * 4) : "?", readable_seconds(bucket.seconds)));
    if (said.size() > 8) said.resize(8, "…");
    job_.said.emplace_back("buckets", listed(said));
    if (std::ranges::any_of(job_.buckets, [](const TimedBucket& bucket) { return !bucket.elements; }))
      job_.missing.emplace_back("bytes of collectives, which this trace rounds: run again with this version");
  }

  void one_exchange() {
    TimedBucket bucket;
    bucket.seconds = behind_;
    if (bucket.seconds <= 0) return;
    job_.overlap = false;
    job_.assumed.emplace_back("what is sent in a step as one exchange behind backward, as long as a step is longer than computing");
    job_.missing.emplace_back("buckets: the workers do not exchange gradients by all-reduces alone");
    job_.buckets.push_back(bucket);
  }

  void add_jitter() {
    std::vector<std::vector<double>> seconds(workers_.size());
    for (const std::vector<Share>& step : shares_)
      for (std::size_t worker = 0; worker < step.size(); ++worker) seconds[worker].push_back(computing(step[worker]));
    job_.jitter = step_factors(seconds);
  }

  std::string shown_;
  bool whole_ = false, stale_ = false;
  std::size_t spans_ = 0, contributions_ = 0;
  std::set<std::int64_t> workers_;
  std::map<std::int64_t, std::vector<Activity>> activities_;  // by worker
  std::map<std::int64_t, Piece> pieces_;                      // by number
  std::vector<const Piece*> in_order_;                        // of begin
  std::map<double, std::size_t> updates_;                     // contributions, by time
  std::vector<double> begins_;                                // [steps] microseconds
  std::vector<std::vector<Share>> shares_;                    // [steps][workers]
  std::vector<std::vector<const Piece*>> step_pieces_;        // [steps]
  double behind_ = 0;                                         // seconds of a step behind the longest work
  TimedJob job_;
};

const Register<ImportFormat> straggler_trace(ImportFormat{
    .name = "straggler_trace",
    .summary = "the trace of a run of this program",
    .example = "straggler run SCENARIO --timing-only --trace: trace.json in its results",
    .yields = "a job",
    .parameters = {},
    .recognizes = is_run_trace,
    .read = [](const std::vector<GivenFile>& files, const Parameters&) {
      if (files.size() > 1) throw DataError(fmt::format("{}: and others are a run each; name one of them", files[0].shown().string()));
      return Trace(files.front()).imported(files.front());
    }});

}  // namespace
}  // namespace straggler::import_run_trace
