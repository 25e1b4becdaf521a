#include "scenarios/serve/preview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/without_learning.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/run_timeline.hpp"
#include "scenarios/report/stretches.hpp"
#include "scenarios/report/timeline.hpp"
#include "scenarios/report/units.hpp"
#include "scenarios/results/figures.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/schema/worker_names.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr double rates_share = 0.6;  // of the budget
constexpr int most_budgets = 10;     // for the first batches: a late answer is better than a wrong one
constexpr int most_first = 100;      // budgets for the first update: a late answer is better than none
constexpr std::uint64_t few_batches = 2, more_batches = 16,
                        many_batches = 1'000;  // of a worker; of all, where a worker has more than a few
constexpr double drawn_batches = 4;            // of a worker
constexpr std::size_t most_drawn_events = 2'000, most_links = 5'000;
constexpr std::int64_t most_still_workers = 16;

/// When the last update was, and how many contributions went into all of them.
class LastUpdate final : public RecordSink {
 public:
  Time time;
  std::uint64_t contributions = 0, samples = 0;

 private:
  void contribution(std::uint64_t, Time at, Rank, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t count) override {
    time = at;
    ++contributions;
    samples += count;
  }
  void choice(Rank, std::int32_t) override {}
  void span(Rank, Phase, Time, Time) override {}
};

/// Ends a run at a time, or, if that is later, once the first update is there and as many contributions as rates need, or at once when it
/// is superseded.
class Cut final : public ProgressListener {
 public:
  Cut(Clock::time_point end, const std::function<bool()>& superseded, std::optional<Time> until = std::nullopt)
      : end_(end), until_(until), superseded_(superseded) {}
  /// Waits for contributions, but for the first not beyond `first`, and for the others not beyond `latest`.
  void wait_for(const LastUpdate& seen, std::uint64_t contributions, Clock::time_point first, Clock::time_point latest) {
    seen_ = &seen;
    enough_ = contributions;
    first_ = first;
    latest_ = latest;
  }
  void progress(const State& state) override {
    fraction_ = state.fraction;
    passed_ = until_ && state.time > *until_;
  }
  /// Where links are drawn, they are looked at after each event.
  std::optional<std::uint64_t> pulse() const override { return until_ ? 1 : 256; }
  bool interrupted() override {
    over_ = over_ || (superseded_ && superseded_());
    return over_ || passed_ || Clock::now() >= (!early() ? end_ : seen_->contributions > 0 ? latest_ : first_);
  }
  double fraction() const { return fraction_; }
  bool over() const { return over_; }
  bool early() const { return seen_ != nullptr && seen_->contributions < enough_; }

 private:
  Clock::time_point end_, first_, latest_;
  std::optional<Time> until_;
  const std::function<bool()>& superseded_;
  const LastUpdate* seen_ = nullptr;
  std::uint64_t enough_ = 0;
  double fraction_ = 0;
  bool passed_ = false, over_ = false;
};

/// The run again, up to `until`: all that happens between some workers of each group, or a picture of the first workers.
void add_timeline(Preview& out, const Scenario& scenario, const RunRecord& record, Experiment& experiment, Time until,
                  Clock::time_point end, const std::function<bool()>& superseded) {
  Cut cut(end, superseded, until + until);
  std::vector<std::string> names;
  if (charts_move()) {
    TimelineStretch stretch;
    stretch.name = "first batches";
    stretch.to = until;
    StretchSink sink(timeline_lanes(scenario, record), {{stretch, most_drawn_events}}, until);
    until = std::min(until, experiment.run(&sink, &cut).end);
    sink.cut(until);
    sink.finish();
    for (const TimelineLane& lane : sink.lanes())
      if (lane.kind == TimelineLane::Kind::worker) names.push_back(lane.name);
    out.timeline = timeline_data(sink, "Who computes, sends and waits", true);
  } else {
    const WorkerNames called(scenario);
    for (std::int64_t worker = 0; worker < std::min(scenario.workers(), most_still_workers); ++worker)
      names.push_back(called.worker(worker));
    Timeline timeline(static_cast<Rank>(names.size()), until);
    experiment.run(&timeline, &cut);
    out.still = draw(timeline, names, "Who computes, sends and waits").inside();
  }
  out.superseded = cut.over();
  if (until <= Time()) out.timeline.clear();
  if (until <= Time()) return;
  const std::string all = readable_count(static_cast<std::uint64_t>(scenario.workers()));
  out.timeline_label = fmt::format("The first {}: {}", readable_seconds(until.seconds()),
                                   names.size() < static_cast<std::size_t>(scenario.workers())
                                       ? fmt::format("{} of {} workers", names.size(), all)
                                       : fmt::format("{} worker{}", all, scenario.workers() == 1 ? "" : "s"));
}

void add_links(Preview& out, const LinkTable& links) {
  if (links.size > most_links) return;
  const double seconds = out.simulated_seconds;
  for (std::size_t i = 0; i < links.size && seconds > 0; ++i) {
    const LinkRecord link = links.row(i);
    const double use = link.bytes_per_second > 0 ? link.bytes / (link.bytes_per_second * seconds) : 0;
    if (use <= out.busiest_use) continue;
    out.busiest_use = std::min(use, 1.0);
    out.busiest_link = link.name;
  }
}

void add_staleness(Preview& out, const StalenessHistogram& histogram) {
  double sum = 0, count = 0;
  for (const auto& [staleness, contributions] : histogram) {
    sum += static_cast<double>(staleness) * static_cast<double>(contributions);
    count += static_cast<double>(contributions);
    out.staleness_max = static_cast<double>(staleness);
  }
  out.staleness_mean = count > 0 ? sum / count : 0;
}

}  // namespace

std::uint64_t settled_contributions(std::uint64_t workers) {
  return workers * std::clamp(many_batches / workers, few_batches, more_batches);
}

Preview preview(const Scenario& given, std::chrono::milliseconds budget, const std::function<bool()>& superseded) {
  const Clock::time_point start = Clock::now();
  const Scenario scenario = without_learning(given);
  RunOptions options;
  options.timing_only = options.trace = true;
  Preview out;
  LastUpdate last;
  Cut cut(start + std::chrono::duration_cast<Clock::duration>(rates_share * budget), superseded);
  cut.wait_for(last, settled_contributions(static_cast<std::uint64_t>(scenario.workers())), start + most_first * budget,
               start + most_budgets * budget);
  Experiment experiment(scenario, options);  // run twice: choosing an all-reduce takes as long as some updates
  const RunRecord record = experiment.run(&last, &cut);
  out.superseded = cut.over();
  if (out.superseded) return out;
  out.complete = record.outcome != Outcome::interrupted;
  out.early = !out.complete && cut.early();
  out.fraction = out.complete ? 1 : std::clamp(cut.fraction(), 0.0, 1.0);
  out.updates = record.updates;
  out.simulated_seconds = (last.contributions > 0 ? last.time : record.end).seconds();
  out.samples = static_cast<double>(last.samples);
  out.bytes_sent = static_cast<double>(record.bytes_sent);
  for (const PhaseRow& row : phase_rows) out.shares[row.phase] = mean_share(record.workers, row.phase).value_or(0);
  add_staleness(out, record.staleness);
  out.warnings = record.warnings;
  if (out.updates > 0 && last.time > Time()) {
    add_links(out, record.links);
    const double each = out.simulated_seconds * static_cast<double>(scenario.workers()) / static_cast<double>(last.contributions);
    const Time until = Time::from_seconds(std::min(drawn_batches * each, out.simulated_seconds));
    add_timeline(out, scenario, record, experiment, until, Clock::now() + most_budgets * budget, superseded);
  }
  out.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return out;
}

std::string extent_sentence(const Preview& preview) {
  const std::string updates = fmt::format("{} update{}", readable_count(preview.updates), preview.updates == 1 ? "" : "s");
  const std::string wall = fmt::format("{:.0f} ms", 1000 * preview.wall_seconds);
  if (preview.complete) return fmt::format("Shows the whole run: {}, simulated in {}.", updates, wall);
  if (preview.updates == 0) return fmt::format("A preview, stopped after {} of wall time, before the first update.", wall);
  return fmt::format("A preview, stopped after {} of wall time: it shows the first {}, {} of the run{}.", wall, updates,
                     share_text(preview.fraction), preview.early ? "; workers have just begun, and rates may still change" : "");
}

Json figures_of(const Preview& preview) {
  Json rows = Json::array();
  if (preview.updates == 0 || preview.simulated_seconds <= 0) return rows;
  const auto add = [&](const char* key, const char* label, double value, const std::string& text) {
    rows.push_back({{"key", key}, {"label", label}, {"value", value}, {"text", text}});
  };
  const double seconds = preview.simulated_seconds, updates = static_cast<double>(preview.updates);
  add("samples_per_second", "samples per second", preview.samples_per_second(), readable_number(preview.samples_per_second()));
  add("seconds_per_update", "time of an update", preview.seconds_per_update(), readable_seconds(preview.seconds_per_update()));
  add("updates_per_second", "updates per second", updates / seconds, readable_number(updates / seconds));
  add("bytes_per_update", "bytes sent per update", preview.bytes_sent / updates, readable_bytes(preview.bytes_sent / updates));
  for (const PhaseRow& row : summary_phases) {
    const double share = preview.shares[row.phase];
    if (row.shown == PhaseShown::first) add(row.name, row.title, share, share_text(share));
  }
  add("staleness_mean", "staleness, mean", preview.staleness_mean, readable_number(preview.staleness_mean));
  if (!preview.busiest_link.empty())
    add("busiest_link", "use of the busiest link", preview.busiest_use,
        fmt::format("{} ({})", share_text(preview.busiest_use), preview.busiest_link));
  return rows;
}

}  // namespace straggler
