// A run's learning curve as points of a picture.
#pragma once
#include <string>
#include <vector>

#include "scenarios/report/charts.hpp"
#include "scenarios/results/result_table.hpp"
#include "scenarios/results/thinned.hpp"

namespace straggler {

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
