#include "scenarios/search/search_outcome.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "scenarios/results/text.hpp"
#include "scenarios/sweep/range.hpp"
#include "scenarios/sweep/stored_outcome.hpp"

namespace straggler {

NLOHMANN_JSON_SERIALIZE_ENUM(Winner, {{Winner::neither, "neither"}, {Winner::first, "first"}, {Winner::second, "second"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AxisValue, label, yaml)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Metric, name, maximize, chosen)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NarrowLead, contender, by)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SearchedSetting, path, ordered, labels)

/// JSON has no numbers for values that are not finite, which a loss may have: they are texts.
static void to_json(nlohmann::json& json, const Measured& measured) {
  json = {{"exact", measured.exact}, {"runs", measured.runs}, {"values", nlohmann::json::array()}};
  for (const auto& value : measured.values)
    if (value && !std::isfinite(*value))
      json["values"].push_back(number_text(*value));
    else
      json["values"].push_back(value);
}
static void from_json(const nlohmann::json& json, Measured& measured) {
  std::vector<std::optional<double>> values;
  for (const nlohmann::json& value : json.at("values"))
    if (value.is_string())
      values.push_back(std::strtod(value.get<std::string>().c_str(), nullptr));
    else
      values.push_back(value.get<std::optional<double>>());
  measured = Measured::of(std::move(values), json.at("exact").get<bool>());
  measured.runs = json.at("runs").get<std::vector<StudyRun>>();
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FoundPoint, values, shares, batch, measured)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FoundBest, point, edge, as_good, open, narrow, one_run)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FoundGroup, labels, points, best, exhaustive)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Crossing, below, above, unclear_from, unclear_to, noisy, supported, between)

/// The rest of a point follows from these.
static void to_json(nlohmann::json& json, const ComparedPoint& point) { json = {{"at", point.at}, {"measured", point.measured}}; }
static void from_json(const nlohmann::json& json, ComparedPoint& point) {
  json.at("at").get_to(point.at);
  json.at("measured").get_to(point.measured);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CrossoverGroup, labels, points, crossings)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SearchOutcome, axes, metric, repeats, failures, runs, timing_runs, interrupted, over, found, compared,
                                   between, along, tolerance, crossed)

SearchedSetting SearchedSetting::of(const Setting& setting) {
  SearchedSetting out{setting.path(), setting.ordered(), {}};
  if (setting.ordered())
    out.labels = {setting.value(0).label, setting.value(1).label};
  else
    for (std::size_t i = 0; i < setting.count(); ++i)
      out.labels.push_back(setting.value((static_cast<double>(i) + 0.5) / static_cast<double>(setting.count())).label);
  return out;
}

std::string SearchedSetting::values() const {
  std::string text;
  for (const std::string& label : labels) text += (text.empty() ? "" : ordered ? " to " : ", ") + label;
  return text;
}

bool FoundGroup::as_good(std::size_t point) const { return best && std::ranges::find(best->as_good, point) != best->as_good.end(); }

Winner ahead_of(const Measured& first, const Measured& second, bool maximize) {
  const Contender a = first.contender(), b = second.contender();
  return is_ahead(a, b, maximize) ? Winner::first : is_ahead(b, a, maximize) ? Winner::second : Winner::neither;
}

ComparedPoint ComparedPoint::of(AxisValue at, std::pair<Measured, Measured> measured, bool maximize) {
  const auto& [first, second] = measured;
  ComparedPoint point;
  point.value = parse_range_end(at.yaml)->value;
  point.at = std::move(at);
  point.difference = paired_difference(first, second);
  point.winner = ahead_of(first, second, maximize);
  point.verdict = judge(std::vector{first.contender(), second.contender()}, {.maximize = maximize, .exact = first.exact && second.exact});
  point.measured = std::move(measured);
  return point;
}

SearchOutcome SearchOutcome::of(const SearchFile& search) {
  SearchOutcome outcome;
  outcome.axes = search.sweep.columns();
  if (const auto& find = search.find) {
    outcome.metric = find->metric;
    outcome.repeats = find->repeats;
    for (const Setting& setting : find->over) outcome.over.push_back(SearchedSetting::of(setting));
  }
  if (const auto& crossover = search.crossover) {
    outcome.metric = crossover->metric;
    outcome.repeats = crossover->repeats;
    outcome.compared = crossover->path;
    for (const AxisValue& each : crossover->between) outcome.between.push_back(each.label);
    outcome.along = SearchedSetting::of(crossover->along);
    outcome.tolerance = crossover->tolerance;
  }
  return outcome;
}

std::string SearchOutcome::name_of(Winner winner) const {
  return winner == Winner::neither ? "neither" : between[winner == Winner::first ? 0 : 1];
}

Endings SearchOutcome::endings() const {
  Endings all;
  const auto add = [&](const Measured& measured) {
    for (const StudyRun& run : measured.runs) all.add(run.fields);
  };
  for (const FoundGroup& group : found)
    for (const FoundPoint& point : group.points) add(point.measured);
  for (const CrossoverGroup& group : crossed)
    for (const ComparedPoint& point : group.points) {
      add(point.measured.first);
      add(point.measured.second);
    }
  return all;
}

void keep(SweepState& state, const SearchOutcome& outcome) { keep_outcome(state, "search", outcome); }

SearchOutcome kept_search(SweepState& state, const std::string& place) {
  SearchOutcome outcome = kept_outcome<SearchOutcome>(state, "search", place);
  for (CrossoverGroup& group : outcome.crossed)
    for (ComparedPoint& point : group.points)
      point = ComparedPoint::of(std::move(point.at), std::move(point.measured), outcome.metric.maximize);
  return outcome;
}

}  // namespace straggler
