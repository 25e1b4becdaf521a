#include "scenarios/report/run_charts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/results/figures.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/results/thinned.hpp"
#include "scenarios/statistics/said.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_still = 2'400;   // points of all curves in a still picture
constexpr std::size_t most_single = 2'500;  // points of all runs by themselves

/// A mean of fewer runs may lie before that of all.
bool continues(const LearningPoint& before, const LearningPoint& after) {
  for (std::size_t axis = 0; axis < before.x.size(); ++axis)
    if (after.x[axis] < before.x[axis]) return false;
  return true;
}

}  // namespace

std::vector<LearningPoint> learning_points(const ResultTable& curve, const std::vector<CurveAxis>& axes, const std::string& y) {
  std::vector<LearningPoint> points;
  for (std::size_t row = 0; row < curve.rows(); ++row) {
    const auto value = curve.number(row, y);
    if (!value) continue;
    LearningPoint point;
    point.value = *value;
    for (const CurveAxis& axis : axes)
      if (const auto x = curve.number(row, axis.column)) point.x.push_back(*x);
    if (point.x.size() == axes.size()) points.push_back(std::move(point));
  }
  return points;
}

std::vector<LearningPoint> thinned(const std::vector<LearningPoint>& points, std::size_t most) {
  std::vector<double> values;
  for (const LearningPoint& point : points) values.push_back(point.value);
  std::vector<LearningPoint> kept;
  for (const std::size_t i : thinned(values, most)) kept.push_back(points[i]);
  return kept;
}

std::string thinning_words(std::size_t points, std::size_t drawn, const std::string& where) {
  if (drawn >= points) return {};
  return fmt::format("{} of {} evaluations are drawn, including the lowest and the highest of each interval; {} has all.",
                     readable_count(drawn), readable_count(points), where);
}

std::vector<LearningPoint> mean_curve(const std::vector<std::vector<LearningPoint>>& runs) {
  std::vector<const std::vector<LearningPoint>*> all;
  std::size_t longest = 0;
  for (const auto& points : runs)
    if (points.size() > 1) {
      all.push_back(&points);
      longest = std::max(longest, points.size());
    }
  if (all.empty()) return {};
  if (all.size() == 1) return *all.front();
  std::vector<LearningPoint> mean;
  for (std::size_t i = 0; i < longest; ++i) {
    LearningPoint point;
    double count = 0;
    for (const auto* points : all) {
      if (i >= points->size()) continue;
      const LearningPoint& each = (*points)[i];
      if (count == 0) {
        point.x.assign(each.x.size(), 0);
        point.low = point.high = each.value;
      }
      ++count;
      for (std::size_t axis = 0; axis < each.x.size(); ++axis) point.x[axis] += each.x[axis];
      point.value += each.value;
      point.low = std::min(*point.low, each.value);
      point.high = std::max(*point.high, each.value);
    }
    for (double& x : point.x) x /= count;
    point.value /= count;
    if (!mean.empty() && !continues(mean.back(), point)) break;
    mean.push_back(std::move(point));
  }
  return mean;
}

std::optional<std::vector<double>> reached_at(const ThresholdResult& threshold, const std::vector<CurveAxis>& axes) {
  std::vector<double> at;
  for (const CurveAxis& axis : axes) {
    const std::string_view column = axis.column;
    const std::optional<double> value = column == "time_s"       ? threshold.seconds
                                        : column == "epoch"      ? threshold.epochs
                                        : column == "update"     ? threshold.updates
                                        : column == "bytes_sent" ? threshold.bytes
                                                                 : std::nullopt;
    if (!value) return std::nullopt;
    at.push_back(*value);
  }
  return at;
}

/// Means over the runs that reach it.
static std::vector<double> mean_reached(const std::vector<std::optional<std::vector<double>>>& runs) {
  std::vector<double> mean;
  double count = 0;
  for (const auto& run : runs) {
    if (!run) continue;
    mean.resize(run->size(), 0);
    for (std::size_t axis = 0; axis < run->size(); ++axis) mean[axis] += (*run)[axis];
    ++count;
  }
  for (double& x : mean) x /= count;
  return mean;
}

/// Each run, where some are shown as means or can be grouped.
static std::vector<LearningCurve> single_runs(const LearningFigure& wanted) {
  std::vector<LearningCurve> all;
  bool worth = false;
  for (const RepeatedCurve& curve : wanted.curves)
    for (std::size_t run = 0; run < curve.named.size(); ++run) {
      worth = worth || curve.named.size() > 1 || !curve.named[run].keys.empty();
      if (curve.runs[run].size() > 1)
        all.push_back({curve.named[run].name,
                       curve.look,
                       curve.runs[run],
                       {},
                       curve.reached[run].value_or(std::vector<double>()),
                       false,
                       curve.named[run].keys});
    }
  if (!worth) return {};
  for (LearningCurve& run : all) run.points = thinned(run.points, std::max<std::size_t>(4, most_single / all.size()));
  return all;
}

std::optional<Figure> learning_figure(const LearningFigure& wanted) {
  LearningChart chart;
  chart.label = capital(wanted.word);
  chart.y_title = wanted.word;
  chart.linear_y = wanted.word.ends_with("accuracy");
  chart.axes = wanted.axes;
  std::size_t points = 0, drawn = 0;
  bool bands = false, tails = false;
  for (const RepeatedCurve& curve : wanted.curves) {
    const std::vector<LearningPoint> mean = mean_curve(curve.runs);
    if (mean.size() < 2) continue;
    bands = bands || mean.front().low.has_value();
    for (const auto& run : curve.runs) tails = tails || (run.size() > 1 && run.size() < mean.size());
    points += std::max(mean.size(), curve.evaluations);
    chart.curves.push_back(
        {curve.name, curve.look, thinned(mean, std::max<std::size_t>(4, wanted.most_points / wanted.curves.size())), curve.link});
    chart.curves.back().reached = mean_reached(curve.reached);
    if (const auto some = std::ranges::count_if(curve.reached, [](const auto& at) { return at.has_value(); });
        some < std::ssize(curve.reached))
      chart.curves.back().reached_by = fmt::format("{} of {}", some, curve.reached.size());
    chart.curves.back().best = curve.best;
    drawn += chart.curves.back().points.size();
  }
  if (chart.curves.empty()) return std::nullopt;
  chart.still_points = std::min(most_still_points, most_still / chart.curves.size());
  chart.crop = wanted.crop;
  chart.group = wanted.group;
  chart.runs = single_runs(wanted);
  if (wanted.target) {
    chart.target = *wanted.target;
    chart.target_name = readable_number(*wanted.target);
  }
  std::string caption = bands ? "Curves of several seeds are means over the seeds; bands reach from the lowest run to the highest." : "";
  const auto add = [&](const std::string& sentence) {
    if (!sentence.empty()) caption += (caption.empty() ? "" : " ") + sentence;
  };
  if (tails) add("Where some seeds have ended, the mean is over the others.");
  add(thinning_words(points, drawn, wanted.file));
  add(wanted.note);
  return figure_of(chart.label, caption, chart);
}

void add_price(std::vector<LargeNumber>& numbers, const std::vector<SummaryField>& summary) {
  for (const char* const key : {"price_to_target", "price", "energy_joules"}) {
    const RunFigure* const figure = find_figure(key);
    const auto value = scalar_of(summary, key).number();
    if (figure == nullptr || !value || (std::string_view(key) == "price" && scalar_of(summary, "price_to_target").number())) continue;
    numbers.push_back({text_of_unit(figure->unit)(*value), figure->title});
  }
}

StackChart time_split(const std::vector<std::string>& names, const std::vector<ByPhase<double>>& rows) {
  StackChart chart;
  chart.names = names;
  chart.values.resize(rows.size());
  for (const PhaseRow& part : phase_rows) {
    if (std::none_of(rows.begin(), rows.end(), [&part](const ByPhase<double>& row) { return row[part.phase] > 0; })) continue;
    chart.parts.push_back({part.title, part.title});
    for (std::size_t row = 0; row < rows.size(); ++row) chart.values[row].push_back(rows[row][part.phase]);
  }
  chart.label = "Where the workers' time went";
  chart.title = "share of the workers' time";
  chart.text = share_text;
  return chart;
}

}  // namespace straggler
