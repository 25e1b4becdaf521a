// The optimizer, least squares and interpolation on problems with known answers.
#include <doctest/doctest.h>

#include <cmath>

#include "validation/compare/interpolation.hpp"
#include "validation/compare/minimize.hpp"
#include "validation/tables/least_squares.hpp"

using namespace straggler;

TEST_CASE("minimize finds the bottom of a bent valley, an edge, and a point on a line") {
  // Rosenbrock's function with its minimum moved to (0.3, 0.7) and the valley across the cube.
  const auto valley = [](const std::vector<double>& at) {
    const double x = 1 + 4 * (at[0] - 0.3), y = 1 + 4 * (at[1] - 0.7);
    return 100 * std::pow(y - x * x, 2) + std::pow(1 - x, 2);
  };
  const Minimum bottom = minimize(valley, {{0.9, 0.1}, {0.5, 0.5}}, 0);
  CHECK(bottom.at[0] == doctest::Approx(0.3).epsilon(1e-4));
  CHECK(bottom.at[1] == doctest::Approx(0.7).epsilon(1e-4));
  const Minimum edge = minimize([](const std::vector<double>& at) { return at[0] - at[1] + at[2] * at[2]; }, {{0.5, 0.5, 0.5}}, -10);
  CHECK(edge.at[0] == doctest::Approx(0).epsilon(1e-6));
  CHECK(edge.at[1] == doctest::Approx(1).epsilon(1e-6));
  CHECK(std::abs(edge.at[2]) < 1e-3);
  const Minimum point = minimize([](const std::vector<double>& at) { return std::pow(at[0] - 0.123456, 2); }, {{0.9}}, 0);
  CHECK(point.at[0] == doctest::Approx(0.123456).epsilon(1e-7));
  CHECK(point.converged);
}

TEST_CASE("minimize takes the better of two valleys") {
  // Minima near 0.2 (value -1) and 0.8 (value -2); the first start is in the wrong one.
  const auto two = [](const std::vector<double>& at) {
    return -std::exp(-std::pow((at[0] - 0.2) / 0.05, 2)) - 2 * std::exp(-std::pow((at[0] - 0.8) / 0.05, 2));
  };
  CHECK(minimize(two, {{0.2}, {0.78}}, -10).at[0] == doctest::Approx(0.8).epsilon(1e-6));
}

TEST_CASE("least squares of a line, and columns that depend on each other") {
  // Closed form: slope = S_xy / S_xx, and the diagonal of the inverse normal matrix (1/n + mean²/S_xx, 1/S_xx).
  const std::vector<double> x{1, 2, 4, 8}, y{3, 5, 8, 17};
  const double mean = 15.0 / 4, mean_y = 33.0 / 4;
  double sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    sxx += (x[i] - mean) * (x[i] - mean);
    sxy += (x[i] - mean) * (y[i] - mean_y);
  }
  Matrix rows;
  for (const double each : x) rows.push_back({1, each});
  const auto line = least_squares(rows, y);
  REQUIRE(line);
  CHECK((*line)[1] == doctest::Approx(sxy / sxx));
  CHECK((*line)[0] == doctest::Approx(mean_y - sxy / sxx * mean));
  const auto diagonal = inverse_normal_diagonal(rows);
  REQUIRE(diagonal);
  CHECK((*diagonal)[0] == doctest::Approx(0.25 + mean * mean / sxx));
  CHECK((*diagonal)[1] == doctest::Approx(1 / sxx));
  for (auto& row : rows) row[0] = 3 * row[1];
  CHECK_FALSE(least_squares(rows, y));
  CHECK_FALSE(inverse_normal_diagonal(rows));
  CHECK_FALSE(inverse_normal_diagonal({{1, 0}, {2, 0}, {3, 0}}));
  CHECK_FALSE(inverse_normal_diagonal({{1, 2}}));
}

TEST_CASE("least squares in the cube: a curve that bends, a minimum at an end, a failing region") {
  std::size_t asked = 0;
  // y = exp(-10 u x) and an offset v, at five x.
  const auto curve = [&](const Matrix& points) {
    Matrix out;
    asked += points.size();
    for (const std::vector<double>& at : points) {
      out.emplace_back();
      for (const double x : {0.0, 0.1, 0.2, 0.5, 1.0})
        out.back().push_back(std::exp(-10 * at[0] * x) + at[1] - std::exp(-10 * 0.3 * x) - 0.7);
    }
    return out;
  };
  for (const std::vector<double>& start : {std::vector<double>{0.5, 0.5}, {0.0, 1.0}, {0.9, 0.1}}) {
    const std::vector<double> at = least_squares_in_cube(curve, start, std::vector<double>(start.size(), 1e-5), 1e-16);
    CHECK(at[0] == doctest::Approx(0.3).epsilon(1e-6));
    CHECK(at[1] == doctest::Approx(0.7).epsilon(1e-6));
  }
  CHECK(asked < 200);
  // The lowest point of (x - 2)² is the end at 1.
  const auto line = [](const Matrix& points) {
    Matrix out;
    for (const std::vector<double>& at : points) out.push_back({at[0] - 2});
    return out;
  };
  CHECK(least_squares_in_cube(line, {0.5}, {1e-5}, 1e-16)[0] == doctest::Approx(1).epsilon(1e-6));
}

TEST_CASE("interpolation by logarithms") {
  // y = 3 x^-0.5 is a straight line there, inside and beyond.
  const auto power = [](double x) { return 3 / std::sqrt(x); };
  const std::vector<std::pair<double, double>> points{{8, power(8)}, {1, power(1)}, {2, power(2)}};
  for (const double x : {0.5, 1.5, 4.0, 32.0}) CHECK(*interpolate_logs(points, x) == doctest::Approx(power(x)));
  CHECK(*interpolate_logs({{4, 7}}, 100) == doctest::Approx(7));
  CHECK(*interpolate_logs({{4, 2}, {4, 8}}, 1) == doctest::Approx(4));
  // Between (1, 1) and (4, 16) the exponent is 2, from there to (16, 4) it is -1.
  CHECK(*interpolate_logs({{1, 1}, {4, 16}, {16, 4}}, 2) == doctest::Approx(4));
  CHECK(*interpolate_logs({{1, 1}, {4, 16}, {16, 4}}, 64) == doctest::Approx(1));
  CHECK_FALSE(interpolate_logs({}, 1));
  CHECK_FALSE(interpolate_logs({{1, 1}}, 0));
  CHECK_FALSE(interpolate_logs({{0, 1}, {1, 1}}, 1));
}

TEST_CASE("a power law of several columns") {
  const auto law = [](double x, double z) { return 3 * std::sqrt(x) / z; };
  const std::vector<std::vector<double>> xs{{1, 2}, {4, 2}, {9, 5}, {2, 8}};
  std::vector<double> ys;
  for (const auto& each : xs) ys.push_back(law(each[0], each[1]));
  CHECK(*power_law(xs, ys, {100, 7}) == doctest::Approx(law(100, 7)));
  CHECK_FALSE(power_law({{1, 2}, {4, 2}, {9, 2}}, {1, 2, 3}, {1, 2}));  // nothing says what the second column does
  CHECK_FALSE(power_law({{1, 2}, {4, 3}}, {1, 2}, {1, 2}));
  CHECK_FALSE(power_law(xs, ys, {0, 7}));
}
