#include <fmt/core.h>

#include <algorithm>

#include "scenarios/schema/source_text.hpp"
#include "scenarios/sweep/range.hpp"
#include "scenarios/sweep/sweep.hpp"

namespace straggler {

std::vector<SweepGroup> groups_of(const Sweep& sweep) {
  std::size_t count = 1;
  for (const Axis& axis : sweep.axes) {
    count *= axis.values.size();
    if (count * static_cast<std::size_t>(sweep.repeats) > most_points)
      throw ScenarioErrors(sweep.places->problem(whole_file, "axes", "make more than a million points; use fewer values"));
  }
  std::vector<SweepGroup> groups(count);
  for (std::size_t g = 0; g < count; ++g) {
    std::size_t stride = count, rest = g;
    for (const auto& [path, yaml] : sweep.set) {
      groups[g].set.emplace_back(path, yaml);
      groups[g].places.push_back(whole_file);
    }
    for (const Axis& axis : sweep.axes) {
      stride /= axis.values.size();
      const std::vector<AxisValue>& values = axis.values[rest / stride];
      rest %= stride;
      for (std::size_t i = 0; i < axis.paths.size(); ++i) {
        groups[g].labels.push_back(values[i].label);
        groups[g].set.emplace_back(axis.paths[i], values[i].yaml);
        groups[g].places.push_back(values[i].place);
      }
    }
  }
  return groups;
}

ScenarioText base_scenario(const Sweep& sweep) {
  if (sweep.scenario.empty()) return ScenarioText(sweep.base, sweep.file);
  const Places places({sweep.scenario.string()});
  Problems problems(places);
  std::optional<std::string> text = read_text(sweep.scenario, problems);
  problems.raise();
  return ScenarioText(std::move(*text), sweep.scenario);
}

namespace {

/// It is the path, or holds it: "a.b" holds "a.b.c" and "a.b[0]".
bool covers(std::string_view whole, std::string_view path) {
  return path.starts_with(whole) && (path.size() == whole.size() || path[whole.size()] == '.' || path[whole.size()] == '[');
}

/// A set that is applied last would remove the differences between points.
void refuse_to_undo(const Sweep& sweep, const SweepGroup& group, const std::vector<std::string>& more) {
  for (const std::string& set : more)
    for (std::size_t varied = sweep.set.size(); varied < group.set.size(); ++varied)
      if (const std::string path = set.substr(0, set.find('=')); covers(path, group.set[varied].first))
        throw ScenarioErrors(
            Problem(Place{.source = 1}, set, path,
                    "would replace what the sweep varies, " + group.set[varied].first +
                        "; write it as `set:` in the sweep's file, which comes before the axes, or leave out one of them"));
}

}  // namespace

PointReader::PointReader(const Sweep& sweep, std::vector<std::string> more)
    : sweep_(sweep), more_(std::move(more)), base_(base_scenario(sweep)) {}

Scenario PointReader::read(const SweepGroup& group, std::int64_t repeat) const {
  refuse_to_undo(sweep_, group, more_);
  std::vector<std::string> sets;
  for (const auto& [path, yaml] : group.set) sets.push_back(fmt::format("{}={}", path, yaml));
  ReadOptions options;
  options.sets_of_file = static_cast<int>(sets.size());
  options.sets_folder = sweep_.folder;
  const std::size_t own = sets.size();
  sets.insert(sets.end(), more_.begin(), more_.end());
  try {
    Scenario scenario = base_.read(sets, options);
    scenario.seed += static_cast<std::uint64_t>(repeat);
    return scenario;
  } catch (const ScenarioErrors& errors) {
    std::vector<Problem> problems = errors.problems;
    for (Problem& problem : problems) {
      const auto set = static_cast<std::size_t>(problem.place.source);  // from 1; 0: the file
      if (set == 0 || set > own) continue;
      const std::string hint = hint_at_whole(group.set[set - 1].second, problem.what);
      problem = sweep_.places->problem(group.places[set - 1], problem.path, problem.text());
      problem.add(hint);
    }
    throw ScenarioErrors(std::move(problems));
  }
}

}  // namespace straggler
