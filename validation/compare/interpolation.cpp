#include "validation/compare/interpolation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "validation/tables/least_squares.hpp"

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

namespace {

/// (1, log x₁, log x₂, …); none where one is not above 0.
std::optional<std::vector<double>> row_of_logs(const std::vector<double>& x) {
  std::vector<double> row{1};
  for (const double each : x) {
    if (!(each > 0)) return std::nullopt;
    row.push_back(std::log(each));
  }
  return row;
}

}  // namespace

std::optional<double> power_law(const std::vector<std::vector<double>>& xs, const std::vector<double>& ys, const std::vector<double>& x) {
  Matrix rows;
  std::vector<double> logs;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    std::optional<std::vector<double>> row = row_of_logs(xs[i]);
    if (!row || !(ys[i] > 0)) return std::nullopt;
    rows.push_back(std::move(*row));
    logs.push_back(std::log(ys[i]));
  }
  const std::optional<std::vector<double>> at = row_of_logs(x), exponents = least_squares(rows, logs);
  if (!at || !exponents) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < at->size(); ++i) sum += (*at)[i] * (*exponents)[i];
  return std::exp(sum);
}

std::optional<std::vector<double>> scale_linearly(const std::vector<double>& x, double y, const std::vector<std::vector<double>>& xs,
                                                  const std::vector<double>& measured) {
  constexpr std::size_t most_columns = 8;
  const auto above_0 = [](double value) { return value > 0; };
  if (x.size() > most_columns || !std::all_of(x.begin(), x.end(), above_0)) return std::nullopt;
  for (const std::vector<double>& at : xs)
    if (!std::all_of(at.begin(), at.end(), above_0)) return std::nullopt;
  std::size_t ways = 1;
  for (std::size_t c = 0; c < x.size(); ++c) ways *= 3;
  std::vector<double> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t way = 0; way < ways; ++way) {
    std::vector<double> values(xs.size(), y);
    std::size_t rest = way;
    for (std::size_t c = 0; c < x.size(); ++c, rest /= 3)
      for (std::size_t r = 0; r < xs.size(); ++r) {
        if (rest % 3 == 1) values[r] *= xs[r][c] / x[c];
        if (rest % 3 == 2) values[r] *= x[c] / xs[r][c];
      }
    double sum = 0;
    for (std::size_t r = 0; r < xs.size(); ++r) sum += std::abs(values[r] / measured[r] - 1);
    if (sum < least) {
      least = sum;
      best = std::move(values);
    }
  }
  return best;
}

}  // namespace straggler
