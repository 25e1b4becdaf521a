#include <map>

#include "scenarios/sweep/sweep_run.hpp"

namespace straggler {
namespace {

using PlaceInSweep = std::pair<std::size_t, std::int64_t>;  // group, repeat

/// The content of the shards, which are all of one sweep.
struct Shards {
  Description description;
  PlannedSweep plan;
  std::map<PlaceInSweep, PlacedPoint> places;
  std::map<std::string, FinishedPoint> finished;

  void take(SweepState& state) {
    if (PlannedSweep its = state.planned(); !its.settings.empty()) plan = std::move(its);
    for (PlacedPoint& point : state.placed()) {
      if (auto known = state.find(point.id)) finished.emplace(point.id, std::move(*known));
      places.emplace(PlaceInSweep(point.group, point.repeat), std::move(point));
    }
  }

  bool has(const PlaceInSweep& place) const {
    const auto point = places.find(place);
    return point != places.end() && finished.contains(point->second.id);
  }

  std::vector<PlacedPoint> missing() const {
    std::vector<PlacedPoint> all;
    for (std::size_t group = 0; group < plan.settings.size(); ++group)
      for (std::int64_t repeat = 0; repeat < plan.repeats; ++repeat)
        if (!has({group, repeat})) all.push_back({group, repeat, 0, plan.settings[group], {}});
    return all;
  }
};

void refuse_search(const std::filesystem::path& file, const Description& description) {
  if (!description.is_search()) return;
  throw ResultsError(file.string() + ": holds a search; its answer is in " + (description.has(Described::find) ? "find" : "crossover") +
                     ".csv; name folders of sweeps over axes alone, which have points.csv");
}

Shards read_shards(const std::vector<std::filesystem::path>& states, const DatabaseWait& wait) {
  Shards shards;
  for (const std::filesystem::path& file : states) {
    if (!std::filesystem::exists(file))
      throw ResultsError(file.string() + ": is not there; name folders of sweeps, each with its sweep.sqlite");
    SweepState state = SweepState::to_read(file, wait);
    const Description its = state.description();
    if (its.empty()) throw ResultsError(file.string() + ": no sweep was run there; name the folders of its shards");
    refuse_search(file, its);
    if (!shards.description.empty() && its != shards.description)
      throw ResultsError(file.string() + ": belongs to another sweep than " + states.front().string() + " (" +
                         change(its, shards.description).first() + "); merge shards of one sweep only");
    shards.description = its;
    shards.take(state);
  }
  return shards;
}

}  // namespace

SweepOutcome merge_sweeps(const std::vector<std::filesystem::path>& states, SweepState& into, const DatabaseWait& wait) {
  Shards shards = read_shards(states, wait);
  if (const Description before = into.description(); before == shards.description)
    shards.take(into);
  else if (into.points() > 0)
    throw ResultsError(into.file().string() + ": belongs to another sweep than " + states.front().string() + " (" +
                       change(before, shards.description).first() + "); name another with --out, or --force to replace what it holds");
  into.describe(shards.description);
  into.plan(shards.plan);
  SweepOutcome outcome;
  std::vector<PlacedPoint> all;
  for (const auto& [place, point] : shards.places) {
    const auto known = shards.finished.find(point.id);
    if (known == shards.finished.end()) continue;
    into.record(point.id, known->second);
    if (outcome.groups.size() <= point.group) outcome.groups.resize(point.group + 1);
    outcome.groups[point.group].labels = point.labels;
    outcome.rows.push_back({point.group, point.repeat, point.seed, point.id, known->second.fields, known->second.sketch});
    all.push_back(point);
  }
  into.place(all);
  outcome.missing = shards.missing();
  outcome.progress.finished = outcome.rows.size();
  outcome.progress.points = outcome.rows.size() + outcome.missing.size();
  return outcome;
}

}  // namespace straggler
