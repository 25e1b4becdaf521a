#include "scenarios/serve/preview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/report/share_text.hpp"
#include "scenarios/report/timeline.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/schema/worker_names.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr double rates_share = 0.6;  // of the budget
constexpr double drawn_batches = 4;  // of a worker
constexpr std::size_t most_drawn = 12, most_links = 5'000;

/// Ends a run at a moment, later if there is no update yet, or as soon as nobody waits for it.
class Cut final : public ProgressListener {
 public:
  Cut(Clock::time_point end, Clock::time_point latest, const std::function<bool()>& superseded, std::optional<Time> until = std::nullopt)
      : end_(end), latest_(latest), until_(until), superseded_(superseded) {}
  void progress(const State& state) override {
    fraction_ = state.fraction;
    updates_ = state.updates;
    passed_ = until_ && state.time > *until_;
  }
  bool interrupted() override {
    over_ = over_ || (superseded_ && superseded_());
    return over_ || passed_ || Clock::now() >= (updates_ > 0 ? end_ : latest_);
  }
  double fraction() const { return fraction_; }
  bool over() const { return over_; }

 private:
  Clock::time_point end_, latest_;
  std::optional<Time> until_;
  const std::function<bool()>& superseded_;
  double fraction_ = 0;
  std::uint64_t updates_ = 0;
  bool passed_ = false, over_ = false;
};

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

/// Hands on what is about some workers, by their number among these.
class Some final : public RecordSink {
 public:
  Some(const std::vector<std::int64_t>& workers, std::int64_t all, RecordSink& to) : places_(static_cast<std::size_t>(all), -1), to_(to) {
    for (std::size_t i = 0; i < workers.size(); ++i) places_[static_cast<std::size_t>(workers[i])] = static_cast<Rank>(i);
  }

 private:
  void contribution(std::uint64_t update, Time time, Rank worker, std::uint64_t version, std::uint64_t position, std::uint32_t steps,
                    std::uint64_t samples) override {
    // A worker beyond those that are kept leaves no mark, but its update a line.
    const Rank place = places_[index_of(worker)];
    to_.contribution(update, time, place < 0 ? static_cast<Rank>(places_.size()) : place, version, position, steps, samples);
  }
  void choice(Rank, std::int32_t) override {}
  void span(Rank worker, Phase phase, Time start, Time end) override {
    if (const Rank place = places_[index_of(worker)]; place >= 0) to_.span(place, phase, start, end);
  }
  void wasted(Rank worker, Time spent) override {
    if (const Rank place = places_[index_of(worker)]; place >= 0) to_.wasted(place, spent);
  }

  std::vector<Rank> places_;  // [workers]; -1: not kept
  RecordSink& to_;
};

/// The first workers of each group, from each about as many.
std::vector<std::int64_t> drawn_workers(const Scenario& scenario) {
  const auto& groups = scenario.cluster.workers;
  const std::int64_t most = std::max<std::int64_t>(1, static_cast<std::int64_t>(most_drawn / std::min(groups.size(), most_drawn)));
  const bool all = scenario.workers() <= static_cast<std::int64_t>(most_drawn);
  std::vector<std::int64_t> workers;
  std::int64_t first = 0;
  for (const WorkerGroup& group : groups) {
    for (std::int64_t i = 0; i < (all ? group.count : std::min(group.count, most)) && workers.size() < most_drawn; ++i)
      workers.push_back(first + i);
    first += group.count;
  }
  return workers;
}

void add_timeline(Preview& out, const Scenario& scenario, Experiment& experiment, Time until, Clock::time_point end, const std::function<bool()>& superseded) {
  const std::vector<std::int64_t> workers = drawn_workers(scenario);
  Timeline timeline(static_cast<Rank>(workers.size()), until);
  Some some(workers, scenario.workers(), timeline);
  Cut cut(end, end, superseded, until + until);
  experiment.run(&some, &cut);
  if (cut.over()) return;
  std::vector<std::string> names;
  for (const std::int64_t worker : workers) names.push_back(worker_name(scenario, worker));
  out.timeline_label = workers.size() == static_cast<std::size_t>(scenario.workers())
                           ? fmt::format("What the workers do in the first {}", readable_seconds(until.seconds()))
                           : fmt::format("What {} of {} workers do in the first {}", workers.size(),
                                         readable_count(static_cast<std::uint64_t>(scenario.workers())), readable_seconds(until.seconds()));
  out.timeline = draw(timeline, names, out.timeline_label).inside();
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

Preview preview(const Scenario& given, std::chrono::milliseconds budget, const std::function<bool()>& superseded) {
  const Clock::time_point start = Clock::now();
  Scenario scenario = given;
  scenario.training.evaluate = {};  // the timing knows no accuracies
  scenario.training.stop.target_accuracy.reset();
  scenario.training.stop.on_target = StopSpec().on_target;
  RunOptions options;
  options.timing_only = options.trace = true;
  Preview out;
  LastUpdate last;
  Cut cut(start + std::chrono::duration_cast<Clock::duration>(rates_share * budget), start + budget, superseded);
  Experiment experiment(scenario, options);  // run twice: choosing an all-reduce takes as long as some updates
  const RunRecord record = experiment.run(&last, &cut);
  out.superseded = cut.over();
  if (out.superseded) return out;
  out.complete = record.outcome != Outcome::interrupted;
  out.fraction = out.complete ? 1 : std::clamp(cut.fraction(), 0.0, 1.0);
  out.updates = record.updates;
  out.simulated_seconds = (last.contributions > 0 ? last.time : record.end).seconds();
  out.samples = static_cast<double>(last.samples);
  out.bytes_sent = static_cast<double>(record.bytes_sent);
  for (std::size_t phase = 0; phase < phase_count; ++phase)
    out.shares[phase] = mean_share(record.workers, static_cast<Phase>(phase)).value_or(0);
  add_staleness(out, record.staleness);
  out.warnings = record.warnings;
  if (out.updates > 0 && last.time > Time()) {
    add_links(out, record.links);
    const double each = out.simulated_seconds * static_cast<double>(scenario.workers()) / static_cast<double>(last.contributions);
    const Time until = Time::from_seconds(std::min(drawn_batches * each, out.simulated_seconds));
    add_timeline(out, scenario, experiment, until, start + budget, superseded);
  }
  out.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return out;
}

StackChart split_chart(const std::vector<std::pair<std::string, std::array<double, phase_count>>>& rows) {
  StackChart chart;
  chart.label = "Where the workers' time goes";
  chart.title = "share of the workers' time";
  chart.text = share_text;
  std::vector<std::size_t> shown;
  for (std::size_t phase = 0; phase < phase_count; ++phase) {
    if (std::ranges::none_of(rows, [&](const auto& row) { return row.second[phase] > 0; })) continue;
    shown.push_back(phase);
    const char* const word = readable_phase(static_cast<Phase>(phase));
    chart.parts.push_back({word, word});
  }
  for (const auto& [name, shares] : rows) {
    chart.names.push_back(name);
    std::vector<double>& values = chart.values.emplace_back();
    for (const std::size_t phase : shown) values.push_back(shares[phase]);
  }
  return chart;
}

std::string extent_sentence(const Preview& preview) {
  const std::string updates = fmt::format("{} update{}", readable_count(preview.updates), preview.updates == 1 ? "" : "s");
  const std::string wall = fmt::format("{:.0f} ms", 1000 * preview.wall_seconds);
  if (preview.complete) return fmt::format("Shows the whole run: {}, in {}.", updates, wall);
  if (preview.updates == 0) return fmt::format("A preview, cut by wall time after {}: no update was made by then.", wall);
  return fmt::format("A preview, cut by wall time after {}: it shows the first {}, {} of the run.", wall, updates, share_text(preview.fraction));
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
  for (const Phase phase : {Phase::compute, Phase::communication, Phase::idle}) {
    const double share = preview.shares[static_cast<std::size_t>(phase)];
    add(name_of(phase), readable_phase(phase), share, share_text(share));
  }
  add("staleness_mean", "staleness, mean", preview.staleness_mean, readable_number(preview.staleness_mean));
  if (!preview.busiest_link.empty())
    add("busiest_link", "use of the busiest link", preview.busiest_use, fmt::format("{} ({})", share_text(preview.busiest_use), preview.busiest_link));
  return rows;
}

}  // namespace straggler
