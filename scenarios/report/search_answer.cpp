#include "scenarios/report/search_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/report/answer_json.hpp"
#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/search_words.hpp"
#include "scenarios/results/run_sketch.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/search/search_tables.hpp"

namespace straggler {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AnswerValue, mean, half_width, count, repeats)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TriedSetting, labels, batch, value, as_good, stands, runs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TriedGroup, labels, points, best)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SearchedSetting, path, values, numbers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ComparedSetting, label, first, second, difference, winner, verdict, first_runs, second_runs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FoundCrossing, between, below, above, unclear_from, unclear_to)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ComparedGroup, labels, points, crossings)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SearchAnswer, description, axes, metric, maximize, interrupted, repeats, runs, timing_runs, said,
                                   reasons, failures, over, found, between, compared, along, tolerance, crossed)

namespace {

/// Values that are not finite (a loss that overflowed) have no place in a picture.
AnswerValue value_of(const RepeatStatistics& statistics, std::size_t repeats) {
  if (!std::isfinite(statistics.mean) || !std::isfinite(statistics.half_width)) return {0, 0, 0, repeats};
  return {statistics.mean, statistics.half_width, statistics.count, repeats};
}
AnswerValue value_of(const Measured& measured) { return value_of(measured.statistics, measured.values.size()); }

std::vector<ShownRun> shown_runs(const Measured& measured) {
  std::vector<ShownRun> runs;
  for (const MeasuredRun& run : measured.runs) runs.push_back(shown_run(run.seed, run.fields, run.sketch));
  return runs;
}

/// Why the runs of `a` are ahead by the metric; empty: it is another metric, or it is not known.
std::string why_ahead(const Metric& metric, const Measured& a, const Measured& b, const std::string& b_name) {
  const std::optional<RunResult> first = mean_result(a.runs), second = mean_result(b.runs);
  if (!first || !second) return {};
  if (metric.name == "samples_per_second") return b.reached > 0 ? why_faster(*first, *second) : std::string();
  const std::optional<double> threshold = metric.name == "time_to_target_s" ? first->target_accuracy : threshold_of(metric.name);
  const ThresholdResult* const at = threshold ? find_threshold(*first, *threshold) : nullptr;
  if (at == nullptr || !at->seconds) return {};
  return b.reached > 0 ? why_sooner(*first, *second, *threshold) : why_missed(*first, *second, *threshold, b_name);
}

/// Why the best of a group is ahead of the next that is worse; empty: there is none, or it is not known.
std::string reason(const SearchFile& search, const FindOutcome& outcome, const FoundGroup& group) {
  if (!group.best) return {};
  std::optional<std::size_t> other;
  for (std::size_t i = 0; i < group.points.size(); ++i) {
    if (std::ranges::find(group.best->as_good, i) != group.best->as_good.end() || i == group.best->point) continue;
    if (!other || is_ahead(group.points[i].measured.contender(), group.points[*other].measured.contender(), outcome.metric.maximize))
      other = i;
  }
  const FoundPoint& best = group.points[group.best->point];
  if (!other) return {};
  const FoundPoint& next = group.points[*other];
  const auto name = [&](const FoundPoint& point) {
    std::string text;
    for (std::size_t i = 0; i < point.values.size(); ++i)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis_title(search.find->over[i].path()), point.values[i].label);
    return text;
  };
  const std::string why = why_ahead(outcome.metric, best.measured, next.measured, name(next));
  return why.empty() ? why : fmt::format("{} is ahead of {}, {}", name(best), name(next), why);
}

/// Why the one is better at the smallest value and at the largest.
void add_reasons(const CrossoverOutcome& outcome, const CrossoverGroup& group, SearchAnswer& answer) {
  if (group.points.empty()) return;
  const std::string where = group_title(answer.axes, group.labels);
  std::vector<std::size_t> ends{0};
  if (group.points.size() > 1) ends.push_back(group.points.size() - 1);
  for (const std::size_t at : ends) {
    const ComparedPoint& point = group.points[at];
    if (point.better() == Winner::neither) continue;
    const bool second = point.better() == Winner::second;
    const auto& [a, b] = point.measured;
    const std::string &ahead = answer.between[second ? 1 : 0], &other = answer.between[second ? 0 : 1];
    const std::string why = why_ahead(outcome.metric, second ? b : a, second ? a : b, other);
    if (!why.empty())
      answer.reasons.push_back(fmt::format("{}{}at {} {}, {} is ahead of {}, {}", where, where.empty() ? "" : ", ",
                                           axis_title(answer.along.path), point.at.label, ahead, other, why));
  }
}

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

void add_standings(const FoundBest& best, TriedGroup& tried) {
  for (const std::size_t point : best.as_good) {
    tried.points[point].as_good = true;
    tried.points[point].stands = best.one_run ? "within 0.5 %" : no_difference;
  }
  for (const std::size_t point : best.open) tried.points[point].stands = too_few_seeds;
  for (const NarrowLead& each : best.narrow) tried.points[each.contender].stands = narrow_words(each.by);
  tried.points[best.point].stands = "the best";
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
      tried.points.push_back({{}, point.batch, value_of(point.measured), false, {}, shown_runs(point.measured)});
      for (const AxisValue& value : point.values) tried.points.back().labels.push_back(value.label);
    }
    if (group.best) add_standings(*group.best, tried);
    answer.found.push_back(std::move(tried));
    if (const std::string why = reason(search, outcome, group); !why.empty()) {
      const std::string where = group_title(answer.axes, group.labels);
      answer.reasons.push_back(where.empty() ? why : fmt::format("{}: {}", where, why));
    }
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
                                 compared_words(spec, point), shown_runs(point.measured.first), shown_runs(point.measured.second)});
    const auto label = [&](std::size_t point) { return group.points[point].at.label; };
    for (const Crossing& crossing : group.crossings) {
      const std::string middle = middle_of(spec.along, group.points[crossing.below].at, group.points[crossing.above].at).label;
      compared.crossings.push_back({middle, label(crossing.below), label(crossing.above),
                                    crossing.noisy ? label(crossing.unclear_from) : std::string(),
                                    crossing.noisy ? label(crossing.unclear_to) : std::string()});
    }
    answer.crossed.push_back(std::move(compared));
    add_reasons(outcome, group, answer);
  }
  return answer;
}

std::string write_answer(const SearchAnswer& answer) { return answer_text("search", answer); }

SearchAnswer read_search_answer(const std::string& text) { return read_answer_text<SearchAnswer>("search", text); }

SearchAnswer kept_search_answer(SweepState& state, const std::string& place) {
  return kept_answer_of<SearchAnswer>("search", state, place);
}

}  // namespace straggler
