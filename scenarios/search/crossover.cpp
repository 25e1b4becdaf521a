#include "scenarios/search/crossover.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "scenarios/sweep/range.hpp"

namespace straggler {
namespace {

double number_of(const AxisValue& value) { return parse_range_end(value.yaml)->value; }

bool narrow(double low, double high, double tolerance) { return high - low <= tolerance * std::max(std::abs(low), std::abs(high)); }

Trial trial_at(const CrossoverSpec& spec, std::size_t group, const AxisValue& one, const AxisValue& at) {
  return {group, {{spec.path, one}, {spec.along.path(), at}}};
}

void check_ends(Trials& trials, const CrossoverSpec& spec) {
  std::vector<Trial> ends;
  for (std::size_t group = 0; group < trials.groups().size(); ++group)
    for (const AxisValue& one : spec.between)
      for (const double share : {0.0, 0.5, 1.0})
        if (group == 0 || share == 0) ends.push_back(trial_at(spec, group, one, spec.along.value(share)));
  trials.check(ends);
}

}  // namespace

std::vector<AxisValue> CrossoverSearch::next() const {
  std::vector<AxisValue> values;
  if (points_.empty()) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < spec_.grid; ++i) {
      AxisValue value = spec_.along.value(static_cast<double>(i) / static_cast<double>(spec_.grid - 1));
      if (seen.insert(value.yaml).second) values.push_back(std::move(value));
    }
    return values;
  }
  for (auto above = std::next(points_.begin()); above != points_.end(); ++above) {
    const auto below = std::prev(above);
    if (below->second.winner == above->second.winner || narrow(below->first, above->first, spec_.tolerance)) continue;
    AxisValue middle = middle_of(spec_.along, below->second.at, above->second.at);
    if (!points_.contains(number_of(middle))) values.push_back(std::move(middle));
  }
  return values;
}

void CrossoverSearch::tell(AxisValue at, Measured first, Measured second) {
  ComparedPoint point = ComparedPoint::of(std::move(at), {std::move(first), std::move(second)}, maximize_);
  points_.emplace(point.value, std::move(point));
}

/// From this point on, while the same one is ahead, a test finds it significantly better at some point; or none is ahead.
bool CrossoverSearch::told_from(const std::vector<ComparedPoint>& points, std::size_t at, int step) {
  const Winner ahead = points[at].winner;
  if (ahead == Winner::neither) return true;
  for (; at < points.size() && points[at].winner == ahead; at += static_cast<std::size_t>(step))
    if (points[at].better() == ahead) return true;
  return false;
}

Crossing CrossoverSearch::crossing(const std::vector<ComparedPoint>& points, std::size_t above) const {
  Crossing out{above - 1, above, above - 1, above, false, true, middle_of(spec_.along, points[above - 1].at, points[above].at)};
  const bool unclear = points[above - 1].unclear() || points[above].unclear();
  while (out.unclear_from > 0 && points[out.unclear_from].unclear() && points[out.unclear_from - 1].unclear()) --out.unclear_from;
  while (out.unclear_to + 1 < points.size() && points[out.unclear_to].unclear() && points[out.unclear_to + 1].unclear()) ++out.unclear_to;
  out.supported = told_from(points, above - 1, -1) && told_from(points, above, 1);
  out.noisy = unclear && !narrow(points[out.unclear_from].value, points[out.unclear_to].value, spec_.tolerance);
  return out;
}

CrossoverGroup CrossoverSearch::finish(std::vector<std::string> labels) {
  CrossoverGroup group{std::move(labels), {}, {}};
  for (auto& [value, point] : points_) group.points.push_back(std::move(point));
  points_.clear();
  for (std::size_t above = 1; above < group.points.size(); ++above)
    if (group.points[above - 1].winner != group.points[above].winner) group.crossings.push_back(crossing(group.points, above));
  return group;
}

AxisValue middle_of(const Setting& along, const AxisValue& below, const AxisValue& above) {
  return along.value((along.share(below.yaml) + along.share(above.yaml)) / 2);
}

bool can_resume_crossover(const SearchFile& search, const Trials::Options& options, PointPool& pool) {
  const CrossoverSpec& spec = *search.crossover;
  Trials trials(search.sweep, options, spec.metric, pool);
  check_ends(trials, spec);
  std::vector<Trial> first;
  for (std::size_t group = 0; group < trials.groups().size(); ++group)
    for (const AxisValue& at : CrossoverSearch(spec, trials.metric().maximize).next())
      for (const AxisValue& one : spec.between) first.push_back(trial_at(spec, group, one, at));
  return trials.any_finished(first);
}

SearchOutcome run_crossover(const SearchFile& search, const Trials::Options& options, PointPool& pool) {
  const CrossoverSpec& spec = *search.crossover;
  Trials trials(search.sweep, options, spec.metric, pool);
  check_ends(trials, spec);
  std::vector<CrossoverSearch> groups(trials.groups().size(), CrossoverSearch(spec, trials.metric().maximize));
  while (!trials.interrupted()) {
    std::vector<Trial> wanted;
    for (std::size_t group = 0; group < groups.size(); ++group)
      for (const AxisValue& at : groups[group].next())
        for (const AxisValue& one : spec.between) wanted.push_back(trial_at(spec, group, one, at));
    if (wanted.empty()) break;
    std::vector<Measured> measured = trials.run(wanted);
    for (std::size_t i = 0; i < wanted.size() && !trials.interrupted(); i += 2)
      groups[wanted[i].group].tell(wanted[i].set[1].second, std::move(measured[i]), std::move(measured[i + 1]));
  }
  SearchOutcome outcome = SearchOutcome::of(search);
  trials.report_to(outcome);
  for (std::size_t group = 0; group < groups.size(); ++group)
    outcome.crossed.push_back(groups[group].finish(trials.groups()[group].labels));
  return outcome;
}

}  // namespace straggler
