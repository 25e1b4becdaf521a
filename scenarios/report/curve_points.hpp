// A run's learning curve as points of a picture.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "scenarios/report/charts.hpp"
#include "scenarios/results/result_table.hpp"

namespace straggler {

/// Column `y` over column `x` of curve.csv, in the rows that have both: at most about 600, evenly spaced, the last one among them.
inline std::vector<ChartPoint> curve_points(const ResultTable& curve, const std::string& x, const std::string& y) {
  constexpr std::size_t most_points = 600;
  std::vector<ChartPoint> points;
  const std::size_t stride = curve.rows() / most_points + 1;
  for (std::size_t row = 0; row < curve.rows(); row += row + 1 == curve.rows() ? 1 : std::min(stride, curve.rows() - 1 - row))
    if (const auto at = curve.number(row, x), value = curve.number(row, y); at && value) points.push_back({*at, *value, 0, false, {}});
  return points;
}

}  // namespace straggler
