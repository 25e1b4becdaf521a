#include "scenarios/report/search_answer.hpp"

#include <cmath>

#include "scenarios/report/answer_json.hpp"
#include "scenarios/search/search_tables.hpp"

namespace straggler {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AnswerValue, mean, half_width, count, repeats)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TriedSetting, labels, batch, value, as_good)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TriedGroup, labels, points, best)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SearchedSetting, path, values, numbers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ComparedSetting, label, first, second, difference, winner, unclear)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FoundCrossing, between, below, above, unclear_from, unclear_to)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ComparedGroup, labels, points, crossings)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SearchAnswer, description, axes, metric, maximize, interrupted, repeats, runs, timing_runs, said,
                                   failures, over, found, between, compared, along, tolerance, crossed)

namespace {

/// Values that are not finite (a loss that overflowed) have no place in a picture.
AnswerValue value_of(const RepeatStatistics& statistics, std::size_t repeats) {
  if (!std::isfinite(statistics.mean) || !std::isfinite(statistics.half_width)) return {0, 0, 0, repeats};
  return {statistics.mean, statistics.half_width, statistics.count, repeats};
}
AnswerValue value_of(const Measured& measured) { return value_of(measured.statistics, measured.values.size()); }

SearchedSetting setting_of(const Setting& setting) {
  SearchedSetting out{setting.path(), {}, setting.ordered()};
  if (setting.ordered()) {
    out.values = setting.value(0).label + " to " + setting.value(1).label;
    return out;
  }
  for (std::size_t i = 0; i < setting.count(); ++i)
    out.values += (i > 0 ? ", " : "") + setting.value((static_cast<double>(i) + 0.5) / static_cast<double>(setting.count())).label;
  return out;
}

/// All but the last line, which counts the runs.
std::string sentences_of(const std::string& text) {
  const std::size_t end = text.find_last_of('\n', text.size() < 2 ? 0 : text.size() - 2);
  return end == std::string::npos ? std::string() : text.substr(0, end + 1);
}

template <class Outcome>
SearchAnswer common(const SearchFile& search, const Outcome& outcome, Description description) {
  SearchAnswer answer;
  answer.description = std::move(description);
  answer.axes = search.sweep.columns();
  answer.metric = outcome.metric.name;
  answer.maximize = outcome.metric.maximize;
  answer.interrupted = outcome.interrupted;
  answer.runs = outcome.runs;
  answer.timing_runs = outcome.timing_runs;
  answer.failures = outcome.failures;
  return answer;
}

}  // namespace

SearchAnswer answer_of(const SearchFile& search, const FindOutcome& outcome, Description description) {
  SearchAnswer answer = common(search, outcome, std::move(description));
  answer.repeats = search.find->repeats;
  answer.said = sentences_of(find_text(search, outcome));
  for (const Setting& setting : search.find->over) answer.over.push_back(setting_of(setting));
  for (const FoundGroup& group : outcome.groups) {
    TriedGroup tried{group.labels, {}, group.best ? group.best->point : group.points.size()};
    for (const FoundPoint& point : group.points) {
      tried.points.push_back({{}, point.batch, value_of(point.measured), false});
      for (const AxisValue& value : point.values) tried.points.back().labels.push_back(value.label);
    }
    if (group.best)
      for (const std::size_t point : group.best->as_good) tried.points[point].as_good = true;
    answer.found.push_back(std::move(tried));
  }
  return answer;
}

SearchAnswer answer_of(const SearchFile& search, const CrossoverOutcome& outcome, Description description) {
  const CrossoverSpec& spec = *search.crossover;
  SearchAnswer answer = common(search, outcome, std::move(description));
  answer.repeats = spec.repeats;
  answer.said = sentences_of(crossover_text(search, outcome));
  for (const AxisValue& each : spec.between) answer.between.push_back(each.label);
  answer.compared = spec.path;
  answer.along = setting_of(spec.along);
  answer.tolerance = spec.tolerance;
  for (const CrossoverGroup& group : outcome.groups) {
    ComparedGroup compared{group.labels, {}, {}};
    for (const ComparedPoint& point : group.points)
      compared.points.push_back({point.at.label, value_of(point.measured.first), value_of(point.measured.second),
                                 value_of(point.difference, point.measured.first.values.size()), static_cast<std::size_t>(point.winner),
                                 point.better() != point.winner});
    const auto label = [&](std::size_t point) { return group.points[point].at.label; };
    for (const Crossing& crossing : group.crossings) {
      const std::string middle = middle_of(spec.along, group.points[crossing.below].at, group.points[crossing.above].at).label;
      compared.crossings.push_back({middle, label(crossing.below), label(crossing.above),
                                    crossing.noisy ? label(crossing.unclear_from) : std::string(),
                                    crossing.noisy ? label(crossing.unclear_to) : std::string()});
    }
    answer.crossed.push_back(std::move(compared));
  }
  return answer;
}

std::string write_answer(const SearchAnswer& answer) { return answer_text("search", answer); }

SearchAnswer read_search_answer(const std::string& text) { return read_answer_text<SearchAnswer>("search", text); }

SearchAnswer kept_search_answer(SweepState& state, const std::string& place) {
  return kept_answer_of<SearchAnswer>("search", state, place);
}

}  // namespace straggler
