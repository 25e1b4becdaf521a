#include "scenarios/report/run_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/report/timeline.hpp"
#include "scenarios/schema/worker_names.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_drawn_workers = 24, most_drawn_links = 4, most_still_workers = 16;
constexpr std::size_t whole_events = 6'000, stretch_events = 2'000;  // of the 20,000 points of a page
constexpr std::int64_t most_simulated_workers = 20'000, most_aggregators = 8;
constexpr std::uint64_t most_simulated_events = 200'000;                       // of a run that is simulated to its end: less than 0.1 s
constexpr std::uint64_t first_events = 60'000, first_events_of_a_worker = 12;  // of a longer one

/// When each version was published; of one that a rollback lost and that was made again, the last time.
class PublishingTimes final : public RecordSink {
 public:
  const std::vector<Time>& times() const { return times_; }  // [version - 1]
  bool contributed(std::uint64_t update) const { return contributed_[update - 1]; }
  std::uint64_t contributions() const { return contributions_; }

 private:
  void contribution(std::uint64_t update, Time time, Rank, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t) override {
    times_.resize(std::max<std::size_t>(times_.size(), update), time);  // a version without contributions has the next one's time
    contributed_.resize(times_.size());
    contributed_[update - 1] = true;
    ++contributions_;
  }
  void choice(Rank, std::int32_t) override {}
  void span(Rank, Phase, Time, Time) override {}
  void rolled_back(std::uint64_t version) override {
    if (times_.size() > version) times_.resize(version);
    contributed_.resize(times_.size());
  }
  std::vector<Time> times_;
  std::vector<bool> contributed_;
  std::uint64_t contributions_ = 0;
};

/// Ends the run at a time, or after that number of polls.
class Until final : public ProgressListener {
 public:
  Until(Time end, std::function<bool()> stop, bool each_event) : end_(end), stop_(std::move(stop)), each_event_(each_event) {}
  /// Where links are drawn, they are looked at after each event.
  std::optional<std::uint64_t> pulse() const override { return each_event_ ? 1 : 256; }
  void progress(const State& state) override { past_ = state.time > end_; }
  bool interrupted() override {
    cut_ = cut_ || (!past_ && stop_());
    return past_ || cut_;
  }
  bool cut() const { return cut_; }

 private:
  Time end_;
  std::function<bool()> stop_;
  const bool each_event_;
  bool past_ = false, cut_ = false;
};

class Both final : public RecordSink {
 public:
  Both(RecordSink& first, RecordSink& second) : first_(first), second_(second) {}

 private:
  void contribution(std::uint64_t update, Time time, Rank worker, std::uint64_t read, std::uint64_t position, std::uint32_t steps,
                    std::uint64_t samples) override {
    first_.contribution(update, time, worker, read, position, steps, samples);
    second_.contribution(update, time, worker, read, position, steps, samples);
  }
  void choice(Rank, std::int32_t) override {}
  void span(Rank worker, Phase phase, Time start, Time end) override {
    first_.span(worker, phase, start, end);
    second_.span(worker, phase, start, end);
  }
  void backward_pass(Rank worker, Time from, Time to) override { first_.backward_pass(worker, from, to); }
  void wasted(Rank worker, Time spent) override {
    first_.wasted(worker, spent);
    second_.wasted(worker, spent);
  }
  void message(const MessageTrace& message) override { first_.message(message); }
  void collective(const CollectiveTrace& collective) override { first_.collective(collective); }
  void served(Rank rank, const char* what, Time start, Time end) override { first_.served(rank, what, start, end); }
  void links(Time now, std::size_t count, const std::function<double(std::size_t)>& bytes_of) override {
    first_.links(now, count, bytes_of);
  }
  RecordSink &first_, &second_;
};

/// Some of each group where not all can be drawn, at least one, evenly spread.
std::vector<std::int64_t> drawn_workers(const Scenario& scenario, std::size_t most) {
  std::int64_t total = 0;
  for (const WorkerGroup& group : scenario.cluster.workers) total += group.count;
  std::vector<std::int64_t> drawn;
  std::int64_t first = 0;
  for (const WorkerGroup& group : scenario.cluster.workers) {
    const double share = static_cast<double>(group.count) / static_cast<double>(total) * static_cast<double>(most);
    const std::int64_t some =
        total <= static_cast<std::int64_t>(most) ? group.count : std::clamp<std::int64_t>(std::llround(share), 1, group.count);
    for (std::int64_t i = 0; i < some && drawn.size() < most; ++i) drawn.push_back(first + i * group.count / some);
    first += group.count;
  }
  return drawn;
}

/// Updates [first, first + count) by number, from 0: the stretch from the one before to the last of them.
TimelineStretch stretch_of(const std::vector<Time>& times, std::string name, std::size_t first, std::size_t count) {
  TimelineStretch stretch;
  stretch.name = std::move(name);
  stretch.from = first == 0 ? Time() : times[first - 1];
  stretch.to = times[std::min(first + count, times.size()) - 1];
  return stretch;
}

/// The first, the typical and the worst stretch of `count` updates each, by how long they take.
std::vector<TimelineStretch> chosen_stretches(const std::vector<Time>& times, std::size_t count) {
  std::vector<TimelineStretch> chosen{stretch_of(times, "first", 0, count)};
  std::vector<std::pair<Time, std::size_t>> lengths;
  for (std::size_t first = count; first + count <= times.size(); first += count)
    lengths.emplace_back(times[first + count - 1] - times[first - 1], first);
  if (lengths.empty()) return chosen;
  std::stable_sort(lengths.begin(), lengths.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  chosen.push_back(stretch_of(times, "typical", lengths[lengths.size() / 2].second, count));
  chosen.push_back(stretch_of(times, "worst", lengths.back().second, count));
  return chosen;
}

/// Whether the simulation reproduced the run.
bool fits(const FinishedRun& run, const PublishingTimes& published) {
  const std::vector<Time>& times = published.times();
  if (times.size() < run.updates) return false;
  for (const auto& [update, seconds] : run.times)
    if (update > 0 && (update > times.size() ||
                       (published.contributed(update) && std::abs(times[update - 1].seconds() - seconds) > 1e-6 * std::max(1e-6, seconds))))
      return false;
  return true;
}

struct Pass {
  RunRecord record;
  bool cut = false;
};

Pass simulate(const Scenario& scenario, RecordSink& sink, bool trace, Time end, std::function<bool()> stop) {
  RunOptions options;
  options.timing_only = true;
  options.trace = trace;
  Until until(end, std::move(stop), trace);
  Pass pass;
  pass.record = Experiment(scenario, options).run(&sink, &until);
  pass.cut = until.cut();
  return pass;
}

/// Experiment polls after a fixed number of events.
std::function<bool()> after(std::uint64_t events, std::uint64_t each) {
  return [left = events / each]() mutable { return left-- == 0; };
}

std::string caption_of(const Scenario& scenario, const StretchSink& sink, bool exact, bool cut) {
  std::string text =
      exact ? "The whole run." : "For the whole run the page has shares of each worker's time; for the stretches it has every event.";
  if (cut) text = "The run is long: the page shows its first stretch.";
  std::int64_t workers = 0;
  for (const WorkerGroup& group : scenario.cluster.workers) workers += group.count;
  const auto drawn = std::count_if(sink.lanes().begin(), sink.lanes().end(),
                                   [](const TimelineLane& lane) { return lane.kind == TimelineLane::Kind::worker; });
  if (drawn < workers)
    text += fmt::format(" {} of {} workers are drawn, some of each group.", drawn, readable_count(static_cast<std::uint64_t>(workers)));
  return text +
         " Arrows are messages, from the first byte that leaves to the last that arrives; marks are contributions to an update. Zoom in to "
         "see each.";
}

Figure figure_of(const Scenario& scenario, const StretchSink& sink, const Timeline& still, bool exact, bool cut) {
  const WorkerNames called(scenario);
  std::vector<std::string> names;
  for (Rank worker = 0; worker < still.workers(); ++worker) names.push_back(called.worker(static_cast<std::int64_t>(worker)));
  const std::string label = "Who computes, sends and waits";
  return {label, caption_of(scenario, sink, exact, cut), {draw(still, names, label)}, timeline_data(sink, label, exact), {}, true, {},
          true};
}

struct Drawn {
  Figure figure;
  Pass pass;
};

/// The second pass: all lanes and stretches are known.
Drawn second_pass(const Scenario& scenario, const Pass& first, const PublishingTimes& updates, Time end, bool cut,
                  std::function<bool()> stop) {
  const std::vector<Time>& times = updates.times();
  const double each =
      std::max(1.0, static_cast<double>(updates.contributions()) / static_cast<double>(std::max<std::size_t>(1, times.size())));
  const double workers = static_cast<double>(first.record.workers.size());
  const auto count = static_cast<std::size_t>(std::clamp(std::ceil(3 * workers / each), 3.0, 400.0));
  std::vector<std::pair<TimelineStretch, std::size_t>> stretches;
  TimelineStretch whole;
  whole.name = cut ? "first" : "whole run";
  whole.whole = !cut;
  whole.to = end;
  stretches.emplace_back(whole, cut ? stretch_events : whole_events);
  if (!cut && !times.empty())
    for (TimelineStretch& stretch : chosen_stretches(times, count)) stretches.emplace_back(std::move(stretch), stretch_events);
  StretchSink sink(timeline_lanes(scenario, first.record), std::move(stretches), end);
  const Time still_end =
      times.empty() ? end : std::min(end, times[std::min<std::size_t>(times.size(), std::max<std::size_t>(1, count)) - 1]);
  Timeline still(static_cast<Rank>(std::min<std::size_t>(most_still_workers, first.record.workers.size())),
                 still_end > Time() ? still_end : end);
  Both both(sink, still);
  Pass pass = simulate(scenario, both, true, end, std::move(stop));
  const bool exact = !sink.stretches().front().full || cut;
  sink.finish();
  return {figure_of(scenario, sink, still, exact, cut), std::move(pass)};
}

}  // namespace

std::vector<TimelineLane> timeline_lanes(const Scenario& scenario, const RunRecord& record) {
  const WorkerNames names(scenario);
  std::vector<TimelineLane> lanes;
  for (const std::int64_t worker : drawn_workers(scenario, most_drawn_workers))
    lanes.push_back({TimelineLane::Kind::worker, names.worker(worker), static_cast<Rank>(worker)});
  const auto workers = static_cast<Rank>(record.workers.size());
  lanes.push_back({TimelineLane::Kind::server, "server", workers});
  for (std::int64_t other = 1; other <= most_aggregators; ++other)
    lanes.push_back({TimelineLane::Kind::server, fmt::format("aggregator {}", other), static_cast<Rank>(workers + other)});
  for (const char* what : {"all-reduce", "all-gather", "reduce-scatter"}) lanes.push_back({TimelineLane::Kind::collective, what});
  for (const std::size_t link : busiest_links(record.links, record.end, most_drawn_links)) {
    const LinkRecord row = record.links.row(link);
    lanes.push_back({TimelineLane::Kind::link, "link " + row.name, 0, link, row.bytes_per_second});
  }
  return lanes;
}

RunTimeline run_timeline(const Scenario& scenario, const FinishedRun& run) {
  std::int64_t workers = 0;
  for (const WorkerGroup& group : scenario.cluster.workers) workers += group.count;
  if (workers > most_simulated_workers)
    return {{}, fmt::format("There is no timeline: it is drawn for at most {} workers.", most_simulated_workers)};
  if (!(run.seconds > 0) || run.updates == 0) return {{}, "There is no timeline of a run without an update."};
  try {
    const Time end = Time::from_seconds(run.seconds);
    PublishingTimes updates;
    const std::uint64_t most = run.events <= most_simulated_events
                                   ? most_simulated_events
                                   : std::max(first_events, first_events_of_a_worker * static_cast<std::uint64_t>(workers));
    const Pass first = simulate(scenario, updates, false, end, after(most, 256));
    FinishedRun known = run;
    if (first.cut) {
      known.updates = updates.times().size();
      std::erase_if(known.times, [&](const auto& time) { return time.first > known.updates; });
    }
    if (!fits(known, updates)) return {{}, "There is no timeline: simulating the run again gives another result, as with replays."};
    const Time until = first.cut && !updates.times().empty() ? std::min(end, updates.times().back()) : end;
    return {second_pass(scenario, first, updates, until, first.cut, after(2 * most, 1)).figure, {}};
  } catch (const std::exception& error) {
    return {{}, fmt::format("There is no timeline: {}.", error.what())};
  }
}

}  // namespace straggler
