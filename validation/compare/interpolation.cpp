#include "validation/compare/interpolation.hpp"

#include <algorithm>
#include <cmath>

namespace straggler {

std::optional<double> interpolate_logs(std::vector<std::pair<double, double>> points, double x) {
  if (points.empty() || !(x > 0)) return std::nullopt;
  for (auto& [at, value] : points) {
    if (!(at > 0 && value > 0)) return std::nullopt;
    at = std::log(at);
    value = std::log(value);
  }
  std::sort(points.begin(), points.end());
  std::vector<std::pair<double, double>> knots;
  for (std::size_t i = 0; i < points.size();) {
    const std::size_t first = i;
    double sum = 0;
    for (; i < points.size() && points[i].first == points[first].first; ++i) sum += points[i].second;
    knots.emplace_back(points[first].first, sum / static_cast<double>(i - first));
  }
  if (knots.size() == 1) return std::exp(knots.front().second);
  const double at = std::log(x);
  std::size_t right = 1;
  while (right + 1 < knots.size() && knots[right].first < at) ++right;
  const auto [x0, y0] = knots[right - 1];
  const auto [x1, y1] = knots[right];
  return std::exp(y0 + (y1 - y0) * (at - x0) / (x1 - x0));
}

}  // namespace straggler
