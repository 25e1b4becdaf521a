// A run's learning curve as points of a picture.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "scenarios/report/charts.hpp"
#include "scenarios/results/result_table.hpp"

namespace straggler {

/// Which of `values` are drawn: all, or of each of about most / 2 equal stretches the lowest and the highest; the first and the last
/// always. Ascending.
inline std::vector<std::size_t> thinned(const std::vector<double>& values, std::size_t most) {
  std::vector<std::size_t> kept;
  if (values.size() <= most) {
    for (std::size_t i = 0; i < values.size(); ++i) kept.push_back(i);
    return kept;
  }
  const std::size_t stretches = std::max<std::size_t>(1, (most - 2) / 2);
  kept.push_back(0);
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const std::size_t from = stretch * values.size() / stretches, to = (stretch + 1) * values.size() / stretches;
    if (from == to) continue;
    const auto [low, high] =
        std::minmax_element(values.begin() + static_cast<std::ptrdiff_t>(from), values.begin() + static_cast<std::ptrdiff_t>(to));
    for (const auto at : {std::min(low, high), std::max(low, high)}) kept.push_back(static_cast<std::size_t>(at - values.begin()));
  }
  kept.push_back(values.size() - 1);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

/// The axes of curves: columns of curve.csv.
struct CurveAxis {
  const char *column, *title;
  NumberText text;
};

/// Column `y` over each of `axes`, in the rows that have all of them.
inline std::vector<LearningPoint> learning_points(const ResultTable& curve, const std::vector<CurveAxis>& axes, const std::string& y) {
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

/// The points that are drawn, at most `most`.
inline std::vector<LearningPoint> thinned(const std::vector<LearningPoint>& points, std::size_t most) {
  std::vector<double> values;
  for (const LearningPoint& point : points) values.push_back(point.value);
  std::vector<LearningPoint> kept;
  for (const std::size_t i : thinned(values, most)) kept.push_back(points[i]);
  return kept;
}

/// "Of 100,000 evaluations 4,000 are drawn …"; empty if all are.
std::string thinning_words(std::size_t points, std::size_t drawn, const std::string& where);

}  // namespace straggler
