#include <map>

#include "scenarios/sweep/sweep_run.hpp"

namespace straggler {

SweepOutcome merge_sweeps(const std::vector<std::filesystem::path>& states, SweepState& into) {
  std::vector<std::string> description;
  std::map<std::pair<std::size_t, std::int64_t>, PlacedPoint> places;
  std::map<std::string, FinishedPoint> finished;
  const auto take = [&](SweepState& state) {
    for (PlacedPoint& point : state.placed()) {
      if (auto known = state.find(point.id)) finished.emplace(point.id, std::move(*known));
      places.emplace(std::pair(point.group, point.repeat), std::move(point));
    }
  };
  for (const std::filesystem::path& file : states) {
    if (!std::filesystem::exists(file))
      throw ResultsError(file.string() + ": is not there; name folders of sweeps, each with its sweep.sqlite");
    SweepState state(file);
    const std::vector<std::string> its = state.description();
    if (its.empty()) throw ResultsError(file.string() + ": no sweep was run there; name the folders of its shards");
    if (!description.empty() && its != description)
      throw ResultsError(file.string() + ": belongs to another sweep than " + states.front().string() + "; merge shards of one sweep only");
    description = its;
    take(state);
  }
  into.describe(description);
  SweepOutcome outcome;
  std::vector<PlacedPoint> all;
  for (auto& [place, point] : places) {
    const auto known = finished.find(point.id);
    if (known == finished.end()) continue;
    into.record(point.id, known->second);
    if (outcome.groups.size() <= point.group) outcome.groups.resize(point.group + 1);
    outcome.groups[point.group].labels = point.labels;
    outcome.rows.push_back({point.group, point.repeat, point.seed, point.id, known->second.fields});
    all.push_back(point);
  }
  into.place(all);
  outcome.progress.points = outcome.progress.finished = outcome.rows.size();
  return outcome;
}

}  // namespace straggler
