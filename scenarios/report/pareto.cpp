#include "scenarios/report/pareto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/base/readable.hpp"

namespace straggler {

std::vector<std::size_t> pareto_front(const std::vector<ParetoPoint>& points) {
  std::vector<std::size_t> order(points.size()), front;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair(points[i].seconds, points[i].cost); });
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t i : order) {
    if (!(points[i].cost < least)) continue;
    least = points[i].cost;
    front.push_back(i);
  }
  return front;
}

std::optional<Figure> pareto_figure(const std::vector<ParetoPoint>& points, const MeasureRow& row, const std::string& to,
                                    const std::string& cost_title) {
  constexpr std::size_t most_names = 12;
  if (points.size() < 2) return std::nullopt;
  LineChart chart;
  chart.x.title = to;
  chart.x.text = readable_seconds;
  chart.linear_x = chart.linear_y = true;
  chart.y_title = cost_title;
  chart.y_text = row.text;
  for (const ParetoPoint& point : points) {
    chart.x.numbers.push_back(point.seconds);
    const std::string tip = fmt::format("{}: {} in {}", point.name, row.text(point.cost), readable_seconds(point.seconds));
    const bool named = points.size() <= most_names;
    if (named || chart.curves.empty()) chart.curves.push_back({named ? point.name : "settings", named ? point.colour : 0, {}, {}, false});
    chart.curves.back().points.push_back({point.seconds, point.cost, 0, false, tip, point.link});
  }
  for (Curve& curve : chart.curves) std::ranges::stable_sort(curve.points, {}, &ChartPoint::x);
  std::string on_front;
  for (const std::size_t i : pareto_front(points)) {
    chart.ideal.emplace_back(points[i].seconds, points[i].cost);
    on_front += (on_front.empty() ? "" : ", ") + points[i].name;
  }
  chart.ideal_name = "front";
  chart.label = fmt::format("Time against {}", row.name);
  return figure_of(
      chart.label,
      fmt::format("Further left is sooner, further down is {}. On the front (broken line), where nothing is better in both: {}.",
                  row.measure == Measure::price ? "cheaper" : "less energy", on_front),
      chart);
}

}  // namespace straggler
