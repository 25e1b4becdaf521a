#include "validation/compare/claim_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scenarios/report/units.hpp"
#include "sim/base/readable.hpp"
#include "validation/compare/claim_results.hpp"

namespace straggler {
namespace {

constexpr double near = 0.05;  // the band around the measured value
constexpr std::size_t held_out_look = 0, fitted_look = 1, band_look = 7, band_points = 24;

constexpr const char* interval_name = "90 % interval of the prediction";

/// Wider intervals are not drawn.
constexpr double widest = 2;  // times the prediction
bool is_drawn(const RowResult& row) { return row.low && row.high && *row.high <= widest * row.predicted; }
std::optional<double> drawn(const RowResult& row, const std::optional<double>& end) { return is_drawn(row) ? end : std::nullopt; }

/// The legend of the bars, if any.
std::string bands_text(const ClaimResult& result) {
  if (!result.no_band.empty()) return " There are no intervals: " + result.no_band + ".";
  const auto left_out = std::ranges::count_if(result.rows, [](const RowResult& row) { return row.low && !is_drawn(row); });
  std::string text = " Bars are 90 % intervals of the predictions: " + inside_text(result) + ".";
  if (left_out > 0) text += fmt::format(" {} wider than a factor of {:g} are left out, and are in the table.", left_out, widest);
  return text;
}

/// An end of the row's interval as an error; without an interval, the error itself.
double relative(const RowResult& row, const std::optional<double>& end) { return end ? *end / row.measured - 1 : row.error; }

/// x: measured, y: predicted, logarithmic if no value is negative; on the dashed line they agree.
Figure agreement(const ClaimResult& result) {
  LineChart chart;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  Curve held{"held out", held_out_look, {}, {}, false}, fitted{"fitted", fitted_look, {}, {}, false},
      reference{"reference", 2, {}, {}, false};
  for (const RowResult& row : result.rows) {
    for (const double value :
         {row.measured, row.predicted, drawn(row, row.low).value_or(row.predicted), drawn(row, row.high).value_or(row.predicted)}) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
    Curve& curve = row.row.use == RowUse::held_out ? held : row.row.use == RowUse::fitted ? fitted : reference;
    curve.points.push_back({row.measured, row.predicted, 0, false,
                            fmt::format("{} ({}): measured {:.6g}, predicted {:.6g}, {}", row.row.label, name_of(row.row.use), row.measured,
                                        row.predicted, error_text(row.error))});
    curve.points.back().from = drawn(row, row.low);
    curve.points.back().up_to = drawn(row, row.high);
    chart.x.numbers.push_back(row.measured);
  }
  const bool logs = low > 0 && high >= 10 * low;
  Curve band{"within 5 %", band_look, {}, {}, false};
  for (std::size_t i = 0; i <= band_points && high > low; ++i) {
    const double part = static_cast<double>(i) / band_points;
    const double at = logs ? low * std::pow(high / low, part) : low + part * (high - low);
    band.range.push_back({at, at - near * std::abs(at), at + near * std::abs(at)});
    chart.ideal.emplace_back(at, at);
  }
  chart.ideal_name = "they agree";
  for (Curve* const curve : {&band, &held, &fitted, &reference}) {
    std::stable_sort(curve->points.begin(), curve->points.end(), [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
    if (!curve->points.empty() || !curve->range.empty()) chart.curves.push_back(std::move(*curve));
  }
  const std::string unit = unit_of(result.claim);
  chart.label = "Predicted against measured";
  chart.x.title = "measured" + unit;
  chart.x.text = readable_number;
  chart.y_title = "predicted" + unit;
  chart.y_text = readable_number;
  chart.from_zero = chart.x_from_zero = false;
  chart.linear_x = chart.linear_y = !logs;
  chart.square = true;
  return figure_of(chart.label, "No value was fitted to the held-out rows. The grey band is ±5 %." + bands_text(result), chart);
}

Figure errors(const ClaimResult& result) {
  IntervalChart chart;
  chart.title = "predicted / measured - 1";
  chart.text = share_text;
  chart.reference = 0;
  chart.from_zero = false;
  for (const RowUse use : {RowUse::held_out, RowUse::fitted}) {
    IntervalGroup group{use == RowUse::held_out ? "Held out" : "Fitted", {}};
    for (const RowResult& row : result.rows)
      if (row.row.use == use)
        group.rows.push_back({row.row.label, error_text(row.error), use == RowUse::held_out ? held_out_look : fitted_look, false,
                              use == RowUse::fitted, relative(row, drawn(row, row.low)), row.error, relative(row, drawn(row, row.high))});
    if (!group.rows.empty()) chart.groups.push_back(std::move(group));
  }
  chart.label = "Error of each row";
  chart.interval = interval_name;
  return figure_of(chart.label, "Hollow marks are fitted rows." + bands_text(result), chart);
}

}  // namespace

std::string unit_of(const Claim& claim) {
  if (claim.compare.relative_to) return ", ratio";
  return claim.compare.unit.empty() ? "" : ", " + claim.compare.unit;
}

std::vector<Figure> claim_figures(const ClaimResult& result) {
  constexpr std::size_t most_rows = 80;
  std::vector<Figure> figures;
  if (result.rows.empty()) return figures;
  figures.push_back(agreement(result));
  if (result.rows.size() <= most_rows) figures.push_back(errors(result));
  return figures;
}

}  // namespace straggler
