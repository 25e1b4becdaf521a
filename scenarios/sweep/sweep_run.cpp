#include "scenarios/sweep/sweep_run.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "scenarios/schema/writer.hpp"
#include "scenarios/statistics/statistics.hpp"
#include "scenarios/sweep/chance.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {
namespace {

/// The points of a sweep, and whether a group needs another repeat.
class SweepPlan {
 public:
  SweepPlan(const Sweep& sweep, const SweepOptions& options)
      : sweep_(sweep), options_(options), reader_(sweep, options.more), groups_(groups_of(sweep)), finished_(groups_.size()) {
    for (std::size_t group = 0; group < groups_.size(); ++group)
      for (std::int64_t repeat = 0; repeat < sweep.repeats; ++repeat)
        if (ours(group * static_cast<std::size_t>(sweep.repeats) + static_cast<std::size_t>(repeat))) places_.emplace_back(group, repeat);
  }

  std::size_t size() const { return places_.size(); }

  PlannedSweep planned() const {
    PlannedSweep plan;
    plan.repeats = sweep_.repeats;
    for (const SweepGroup& group : groups_) plan.settings.push_back(group.labels);
    return plan;
  }

  PointRequest request(std::size_t index) const {
    const std::size_t group = places_[index].first;
    const std::int64_t repeat = places_[index].second;
    return {point_name(sweep_.columns(), groups_[group].labels, repeat),
            [this, group, repeat] { return reader_.read(groups_[group], repeat); }, options_.timing_only || sweep_.timing_only};
  }

  /// Decides when all repeats so far are there, so that it does not depend on the order in which they finish.
  std::vector<PointRequest> more(std::size_t index, const PointOutcome& outcome) {
    if (!sweep_.until || !outcome.result) return {};
    const auto [group, repeat] = places_[index];
    std::map<std::int64_t, std::vector<SummaryField>>& done = finished_[group];
    done[repeat] = outcome.result->fields;
    const auto repeats = static_cast<std::int64_t>(done.size());
    if (repeats < sweep_.repeats || repeats >= sweep_.until->most || done.rbegin()->first != repeats - 1) return {};
    std::vector<double> values;
    bool any_finished = false;
    for (const auto& [number, fields] : done) {
      if (!is_finished(fields)) continue;
      any_finished = true;
      if (const auto value = scalar_of(fields, metric(fields)).number()) values.push_back(*value);
    }
    if (!any_finished) return {};  // more of them would not, either
    const RepeatStatistics statistics = statistics_of(values);
    if (statistics.count >= 2 && statistics.half_width <= sweep_.until->relative * std::abs(statistics.mean)) return {};
    places_.emplace_back(group, repeats);
    return {request(places_.size() - 1)};
  }

  SweepOutcome outcome(std::vector<PointOutcome> points) {
    SweepOutcome outcome;
    std::map<Place, std::size_t> order;
    for (std::size_t index = 0; index < points.size(); ++index) order[places_[index]] = index;
    for (const auto& [place, index] : order) {
      PointOutcome& point = points[index];
      if (point.result)
        outcome.rows.push_back(
            {place.first, place.second, point.seed, point.id, std::move(point.result->fields), std::move(point.result->sketch)});
      if (!point.failure.empty()) outcome.failures.push_back(std::move(point.failure));
    }
    outcome.groups = std::move(groups_);
    return outcome;
  }

 private:
  using Place = std::pair<std::size_t, std::int64_t>;  // group, repeat

  bool ours(std::size_t number) const { return !options_.shard || number % options_.shard->second == options_.shard->first - 1; }

  std::string metric(const std::vector<SummaryField>& fields) const {
    if (!sweep_.until->metric.empty()) return sweep_.until->metric;
    return scalar_of(fields, "target_accuracy").is_number() ? "time_to_target_s" : "samples_per_second";
  }

  const Sweep& sweep_;
  const SweepOptions& options_;
  PointReader reader_;
  std::vector<SweepGroup> groups_;
  std::vector<Place> places_;  // by index of the request
  std::vector<std::map<std::int64_t, std::vector<SummaryField>>> finished_;
};

/// Of every value of each axis, with the first values of the other axes.
bool timing_without_chance(const Sweep& sweep, const PointReader& reader, const std::vector<SweepGroup>& groups) {
  std::size_t stride = groups.size();
  for (const Axis& axis : sweep.axes) {
    stride /= axis.values.size();
    for (std::size_t value = 1; value < axis.values.size(); ++value)
      if (timing_depends_on_seed(reader.read(groups[value * stride], 0))) return false;
  }
  return !timing_depends_on_seed(reader.read(groups.front(), 0));
}

}  // namespace

std::string point_name(const std::vector<std::string>& columns, const std::vector<std::string>& labels, std::int64_t repeat) {
  std::string name;
  for (std::size_t i = 0; i < std::min(columns.size(), labels.size()); ++i) name += columns[i] + "=" + labels[i] + ", ";
  return name + "repeat " + std::to_string(repeat);
}

Description describe(const Sweep& sweep, const std::vector<std::string>& more) {
  Description description;
  description.add(Described::sweep, sweep.name);
  const PointReader reader(sweep, more);
  const std::vector<SweepGroup> groups = groups_of(sweep);
  const Scenario first = reader.read(groups.front(), 0);
  description.add(Described::scenario, first.name);
  description.add_lines(Described::point_scenario, write_scenario(first));
  for (const Axis& axis : sweep.axes)
    for (std::size_t i = 0; i < axis.paths.size(); ++i)
      for (const auto& values : axis.values) description.add(Described::axis, axis.paths[i] + ": " + values[i].yaml);
  description.add(Described::repeats, std::to_string(sweep.repeats));
  if (timing_without_chance(sweep, reader, groups)) description.add(Described::timing, seedless_timing);
  return description;
}

bool can_resume(const Sweep& sweep, const SweepOptions& options, const PointPool& pool) {
  const SweepPlan plan(sweep, options);
  for (std::size_t index = 0; index < plan.size(); ++index)
    if (pool.has_finished(plan.request(index))) return true;
  return false;
}

void each_point(const Sweep& sweep, const SweepOptions& options, const std::function<void(const PointRequest&)>& act) {
  const SweepPlan plan(sweep, options);
  for (std::size_t index = 0; index < plan.size(); ++index) act(plan.request(index));
}

SweepOutcome run_sweep(const Sweep& sweep, const SweepOptions& options, SweepState& state, PointPool& pool) {
  SweepPlan plan(sweep, options);
  state.plan(plan.planned());
  PointPool::More more;
  if (sweep.until) more = [&](std::size_t index, const PointOutcome& point) { return plan.more(index, point); };
  SweepOutcome outcome = plan.outcome(pool.run(
      plan.size(), [&](std::size_t index) { return plan.request(index); }, more));
  outcome.progress = pool.progress();
  outcome.interrupted = pool.interrupted();
  std::vector<PlacedPoint> places;
  for (const SweepRow& row : outcome.rows) places.push_back({row.group, row.repeat, row.seed, outcome.groups[row.group].labels, row.id});
  state.place(places);
  return outcome;
}

}  // namespace straggler
