#include "scenarios/search/search_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/results/text.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

std::string heads(const Sweep& sweep) {
  std::string text;
  for (const std::string& path : sweep.columns()) text += csv_text(path) + ",";
  return text;
}

std::string cells(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += csv_text(label) + ",";
  return text;
}

/// "axis=value, …: " before the text of a group; empty without axes.
std::string group_name(const Sweep& sweep, const std::vector<std::string>& labels) {
  std::string text;
  const std::vector<std::string> columns = sweep.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) text += (i > 0 ? ", " : "") + columns[i] + "=" + labels[i];
  return text.empty() ? text : text + ": ";
}

std::string mean_cell(const RepeatStatistics& statistics) { return statistics.count > 0 ? number_text(statistics.mean) : std::string(); }
std::string width_cell(const RepeatStatistics& statistics) {
  return statistics.count > 1 ? number_text(statistics.half_width) : std::string();
}
std::string deviation_cell(const RepeatStatistics& statistics) {
  return statistics.count > 1 ? number_text(statistics.deviation) : std::string();
}

/// As `groups.csv` of a sweep has it.
std::string outcomes(const Measured& measured) {
  Endings endings;
  for (const MeasuredRun& run : measured.runs) endings.add(run.fields);
  return csv_text(endings.outcomes());
}

std::string warnings(const Endings& endings) {
  std::string text;
  for (const std::string& note : endings.notes()) text += "warning: " + note + "\n";
  return text;
}

std::string with_interval(const std::string& metric, const Measured& measured) {
  if (measured.reached == 0) return "-";
  std::string text = metric_text(metric, measured.statistics.mean);
  if (measured.statistics.half_width > 0) text += " +- " + metric_text(metric, measured.statistics.half_width);
  const std::size_t repeats = measured.values.size();
  if (repeats > 1 || measured.reached < repeats) text += fmt::format(" ({} of {})", measured.reached, repeats);
  return text;
}

std::string settings_text(const FindSpec& spec, const FoundPoint& point) {
  std::string text;
  for (std::size_t s = 0; s < spec.over.size(); ++s) text += (s > 0 ? ", " : "") + spec.over[s].path() + "=" + point.values[s].label;
  return text;
}

/// "PATH 3 to 12", or the choices that occur.
std::string spread_text(const FindSpec& spec, const FoundGroup& group, std::size_t s) {
  const std::vector<std::size_t>& points = group.best->as_good;
  const auto less = [&](std::size_t a, std::size_t b) { return group.points[a].shares[s] < group.points[b].shares[s]; };
  const auto [low, high] = std::minmax_element(points.begin(), points.end(), less);
  const std::string &from = group.points[*low].values[s].label, &to = group.points[*high].values[s].label;
  if (from == to) return spec.over[s].path() + " " + from;
  if (spec.over[s].ordered()) return spec.over[s].path() + " from " + from + " to " + to;
  std::string text = spec.over[s].path();
  for (std::size_t i = 0; i < spec.over[s].count(); ++i) {
    const std::string label = spec.over[s].value((static_cast<double>(i) + 0.5) / static_cast<double>(spec.over[s].count())).label;
    const auto has = [&](std::size_t point) { return group.points[point].values[s].label == label; };
    if (std::any_of(points.begin(), points.end(), has)) text += " " + label;
  }
  return text;
}

std::string flatness(const FindSpec& spec, const FoundGroup& group) {
  const std::size_t others = group.best->as_good.size() - 1;
  std::string before = "  ";
  if (group.best->one_run) before = "  one run of each: one seed cannot tell chance from a difference; ";
  if (others == 0)
    return before + (group.best->one_run ? "no other setting is within 0.5 % of it\n" : "every other setting that was tried is worse\n");
  std::string what = group.best->one_run ? "within 0.5 % of it" : "not told apart from it";
  const std::size_t open = group.best->open.size();
  if (!group.best->one_run)
    what += open == 0        ? std::string(" (no difference)")
            : open == others ? std::string(" (too few seeds for any)")
                             : fmt::format(" (no difference for {}, too few seeds for {})", others - open, open);
  std::string text = fmt::format("{}{} other{} of {} tried {} {}: ", before, others, others == 1 ? "" : "s", group.points.size(),
                                 others == 1 ? "is" : "are", what);
  for (std::size_t s = 0; s < spec.over.size(); ++s) text += (s > 0 ? ", " : "") + spread_text(spec, group, s);
  return text + "\n";
}

/// The settings that are worse by less than 10 %.
std::string narrow_text(const FindSpec& spec, const FoundGroup& group) {
  std::vector<std::string> names;
  for (const FoundPoint& point : group.points) names.push_back(settings_text(spec, point));
  const std::string text = narrow_words(group.best->narrow, names);
  return text.empty() ? text : "  " + text + "\n";
}

std::string edges(const FindSpec& spec, const FoundGroup& group) {
  std::string text;
  for (std::size_t s = 0; s < spec.over.size(); ++s)
    if (const int edge = group.best->edge[s]; edge != 0)
      text += fmt::format("  warning: {}={} lies on the edge of its range; widen the range {}\n", spec.over[s].path(),
                          group.points[group.best->point].values[s].label, edge < 0 ? "downwards" : "upwards");
  return text;
}

std::string alone_text(std::size_t runs, std::size_t timing_runs) {
  return fmt::format("{} point{}{}\n", runs, runs == 1 ? "" : "s",
                     timing_runs == 0      ? ""
                     : timing_runs == runs ? ", all of timing alone"
                                           : fmt::format(", {} of timing alone", timing_runs));
}

const std::string& name_of(const CrossoverSpec& spec, Winner winner) {
  static const std::string neither = "neither";
  return winner == Winner::neither ? neither : spec.between[winner == Winner::first ? 0 : 1].label;
}

/// By how much, relative to the better mean; nothing where one of them has no value.
std::optional<double> lead(const ComparedPoint& point) {
  const auto& [first, second] = point.measured;
  if (first.reached == 0 || second.reached == 0 || point.winner == Winner::neither) return std::nullopt;
  const double better = (point.winner == Winner::first ? first : second).statistics.mean;
  if (better == 0) return std::nullopt;
  return std::abs(first.statistics.mean - second.statistics.mean) / std::abs(better);
}

/// "no difference", or "too few seeds to tell" if that holds anywhere.
std::string untold(const CrossoverGroup& group) {
  const auto open = [](const ComparedPoint& point) { return point.verdict.anybody && !point.verdict.open.empty(); };
  return std::any_of(group.points.begin(), group.points.end(), open) ? too_few_seeds : no_difference;
}

/// "; at 2 of 9 values they differ by less than 10 %"
std::string narrow_text(const CrossoverGroup& group) {
  const auto narrow =
      std::count_if(group.points.begin(), group.points.end(), [](const ComparedPoint& point) { return !point.verdict.narrow.empty(); });
  if (narrow == 0) return {};
  return fmt::format("; at {} of {} values they differ by less than 10 %", narrow, group.points.size());
}

std::string one_winner(const CrossoverSpec& spec, const CrossoverGroup& group, const std::string& metric) {
  const std::string where =
      fmt::format("from {} to {} of {}", group.points.front().at.label, group.points.back().at.label, spec.along.path());
  if (group.points.front().winner == Winner::neither)
    return fmt::format("neither of {} and {} has the better {} anywhere {}", spec.between[0].label, spec.between[1].label, metric, where);
  const std::string& ahead = name_of(spec, group.points.front().winner);
  const auto told = static_cast<std::size_t>(
      std::count_if(group.points.begin(), group.points.end(), [](const ComparedPoint& point) { return point.better() == point.winner; }));
  const bool all = told == group.points.size();
  std::string text = fmt::format("{} {} {} everywhere {}", ahead, all ? "has the better" : "is ahead in", metric, where);
  const ComparedPoint *least = nullptr, *most = nullptr;
  bool missed = false;
  for (const ComparedPoint& point : group.points) {
    const auto by = lead(point);
    missed = missed || point.measured.first.reached != point.measured.second.reached;
    if (by && (!least || *by < *lead(*least))) least = &point;
    if (by && (!most || *by > *lead(*most))) most = &point;
  }
  if (least && most)
    text += fmt::format(", by {} (at {}) to {} (at {})", readable_share(*lead(*least)), least->at.label, readable_share(*lead(*most)),
                        most->at.label);
  if (!all && group.points.front().verdict.one_run)
    text += "; one run of each: one seed cannot tell chance from a difference";
  else if (!all)
    text += told == 0 ? fmt::format("; {} at every value", untold(group))
                      : fmt::format("; it is better at {} of {} values, elsewhere: {}", told, group.points.size(), untold(group));
  text += narrow_text(group);
  if (missed)
    text += fmt::format("; {} has none in some repeats",
                        name_of(spec, group.points.front().winner == Winner::first ? Winner::second : Winner::first));
  return text;
}

std::string winners(const CrossoverSpec& spec, const CrossoverGroup& group, const std::string& metric) {
  const bool supported = std::all_of(group.crossings.begin(), group.crossings.end(), [](const Crossing& each) { return each.supported; });
  std::string text = name_of(spec, group.points.front().winner) + (supported ? " has the better " : " is ahead in ") + metric;
  for (std::size_t i = 0; i < group.crossings.size(); ++i) {
    const Crossing& crossing = group.crossings[i];
    const ComparedPoint &below = group.points[crossing.below], &above = group.points[crossing.above];
    const AxisValue at = middle_of(spec.along, below.at, above.at);
    text += fmt::format("{}, {} above (they cross between {} and {})",
                        i == 0 ? " below " + spec.along.path() + "=" + at.label : " up to " + at.label, name_of(spec, above.winner),
                        below.at.label, above.at.label);
  }
  return text + narrow_text(group);
}

std::string noise(const CrossoverSpec& spec, const CrossoverGroup& group) {
  std::string text;
  const bool one_run =
      std::any_of(group.points.begin(), group.points.end(), [](const ComparedPoint& point) { return point.verdict.one_run; });
  if (one_run && !group.crossings.empty())
    return "  one run of each: one seed cannot tell chance from a difference, and chance may move it\n";
  for (const Crossing& crossing : group.crossings)
    if (crossing.noisy)
      text += fmt::format(
          "  from {} to {} {} repeats cannot tell the two apart (95 %), which is wider than the tolerance of {}: repeat more often\n",
          group.points[crossing.unclear_from].at.label, group.points[crossing.unclear_to].at.label, spec.repeats,
          readable_share(spec.tolerance));
  for (const Crossing& crossing : group.crossings)
    if (!crossing.supported) {
      text += "  on one side of a crossing at least there are too few seeds to tell who is better: repeat more often\n";
      break;
    }
  return text;
}

}  // namespace

std::string find_csv(const SearchFile& search, const FindOutcome& outcome) {
  std::string text = heads(search.sweep);
  for (const Setting& setting : search.find->over) text += csv_text(setting.path()) + ",";
  const bool finished = outcome.endings.all_finished();
  text += fmt::format("batch,{0}_mean,{0}_sd,{0}_ci95,{0}_count,repeats,best{1}\n", outcome.metric.name, finished ? "" : ",outcome");
  for (const FoundGroup& group : outcome.groups)
    for (std::size_t i = 0; i < group.points.size(); ++i) {
      const FoundPoint& point = group.points[i];
      const RepeatStatistics& statistics = point.measured.statistics;
      text += cells(group.labels);
      for (const AxisValue& value : point.values) text += csv_text(value.label) + ",";
      text += fmt::format("{},{},{},{},{},{},{}", point.batch, mean_cell(statistics), deviation_cell(statistics), width_cell(statistics),
                          point.measured.reached, point.measured.values.size(), group.best && group.best->point == i ? 1 : 0);
      text += finished ? std::string("\n") : "," + outcomes(point.measured) + "\n";
    }
  return text;
}

std::string find_text(const SearchFile& search, const FindOutcome& outcome) {
  const FindSpec& spec = *search.find;
  std::string text;
  for (const FoundGroup& group : outcome.groups) {
    text += group_name(search.sweep, group.labels);
    if (!group.best) {
      text += fmt::format("none of {} settings has a {}; widen the ranges, or let the runs be longer\n", group.points.size(),
                          outcome.metric.name);
      continue;
    }
    const FoundPoint& best = group.points[group.best->point];
    text += fmt::format("{} {} at {}\n", outcome.metric.maximize ? "most" : "least", outcome.metric.name, settings_text(spec, best));
    text +=
        fmt::format("  {}, the {} of {} settings{}\n", with_interval(outcome.metric.name, best.measured),
                    outcome.metric.maximize ? "most" : "least", group.points.size(), group.exhaustive ? ", which are all settings" : "");
    text += flatness(spec, group) + narrow_text(spec, group);
    text += edges(spec, group);
  }
  return text + warnings(outcome.endings) + alone_text(outcome.runs, outcome.timing_runs);
}

std::string crossover_csv(const SearchFile& search, const CrossoverOutcome& outcome) {
  const CrossoverSpec& spec = *search.crossover;
  const bool finished = outcome.endings.all_finished();
  std::string text = heads(search.sweep) + csv_text(spec.along.path());
  for (const AxisValue& each : spec.between)
    for (const char* part : {"_mean", "_ci95", "_count", "_outcome"})
      if (!finished || part != std::string_view("_outcome")) text += "," + csv_text(each.label + part);
  text += ",difference,difference_ci95,verdict,ahead,better\n";
  for (const CrossoverGroup& group : outcome.groups)
    for (const ComparedPoint& point : group.points) {
      text += cells(group.labels) + csv_text(point.at.label);
      for (const Measured* measured : {&point.measured.first, &point.measured.second}) {
        text += fmt::format(",{},{},{}", mean_cell(measured->statistics), width_cell(measured->statistics), measured->reached);
        if (!finished) text += "," + outcomes(*measured);
      }
      const std::string words = compared_words(spec, point);
      text += fmt::format(",{},{},{},{},{}\n", mean_cell(point.difference), width_cell(point.difference), csv_text(words),
                          csv_text(name_of(spec, point.winner)),
                          csv_text(point.better() == Winner::neither ? words : name_of(spec, point.better())));
    }
  return text;
}

std::string compared_words(const CrossoverSpec& spec, const ComparedPoint& point) {
  return pair_words(point.verdict.pairs.front(), {spec.between[0].label, spec.between[1].label});
}

std::string crossover_text(const SearchFile& search, const CrossoverOutcome& outcome) {
  const CrossoverSpec& spec = *search.crossover;
  std::string text;
  for (const CrossoverGroup& group : outcome.groups) {
    if (group.points.empty()) continue;
    text += group_name(search.sweep, group.labels);
    text += (group.crossings.empty() ? one_winner(spec, group, outcome.metric.name) : winners(spec, group, outcome.metric.name)) + "\n";
    text += noise(spec, group);
  }
  return text + warnings(outcome.endings) + alone_text(outcome.runs, outcome.timing_runs);
}

}  // namespace straggler
