// Numbers on grids: what equation 1 of Jacob et al. 2018 promises.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/quantization/support.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// Ranges of one sign, of both, lopsided, and of a single point.
const Interval ranges[] = {{-1, 1}, {-0.3f, 2.5f}, {0, 6}, {-4, 0}, {0.5f, 3}, {-1e-3f, 700}, {0, 0}, {2, 2}};

}  // namespace

TEST_CASE("grid: a number of the range lies at most half a step from its point, one beyond at the nearest end") {
  for (const GridScheme scheme : {GridScheme::symmetric, GridScheme::affine})
    for (const GridRole role : {GridRole::weights, GridRole::activations})
      for (int bits = least_bits; bits <= most_bits; ++bits)
        for (const Interval& range : ranges) {
          CAPTURE(bits);
          CAPTURE(range.low);
          CAPTURE(range.high);
          CAPTURE(static_cast<int>(scheme));
          const Grid grid = grid_over(range, bits, scheme, role);
          CHECK(grid.high - grid.low <= (1 << bits) - 1);
          CHECK(grid.low >= (role == GridRole::weights ? -128 : 0));
          CHECK(grid.high <= (role == GridRole::weights ? 127 : 255));
          CHECK((grid.low <= grid.zero && grid.zero <= grid.high));
          CHECK(grid.nearest(0) == 0.0f);  // padding and ReLU need 0 exactly
          const double step = static_cast<double>(grid.scale);
          // x times 1 / s, each rounded to float, is off by three half units in the last place of at most 2^8 steps.
          const double rounding = step * 3 * 256 * 0x1p-24;
          const double low = std::min(range.low, 0.0f), high = std::max(range.high, 0.0f);
          double worst = 0;
          for (int i = 0; i <= 1000; ++i) {
            const auto x = static_cast<float>(low + (high - low) * i / 1000);
            worst = std::max(worst, std::abs(static_cast<double>(grid.nearest(x)) - static_cast<double>(x)));
          }
          if (low < high) CHECK(worst <= step / 2 + rounding);
          CHECK(grid.quantize(std::numeric_limits<float>::infinity()) == grid.high);
          CHECK(grid.quantize(-std::numeric_limits<float>::infinity()) == grid.low);
          for (std::int32_t q = grid.low; q <= grid.high; ++q) REQUIRE(grid.quantize(grid.dequantize(q)) == q);
        }
}

TEST_CASE("grid: scales and zero points are those of the formulas") {
  const Grid weights = grid_over({-0.5f, 0.25f}, 8, GridScheme::symmetric, GridRole::weights);
  CHECK(weights == Grid{0.5f / 127, 0, -127, 127});
  CHECK(grid_over({-0.5f, 0.25f}, 2, GridScheme::symmetric, GridRole::weights) == Grid{0.5f, 0, -1, 1});
  // Of activations: never negative, so all 2^4 - 1 steps are above 0; of both signs: 2^3 - 1 to either side of 2^3.
  CHECK(grid_over({0, 3}, 4, GridScheme::symmetric, GridRole::activations) == Grid{0.2f, 0, 0, 15});
  CHECK(grid_over({-1.4f, 0.7f}, 4, GridScheme::symmetric, GridRole::activations) == Grid{1.4f / 7, 8, 1, 15});
  // Affine: (high - low) / 15, and 0 at -low / scale = 5 of 15 steps.
  CHECK(grid_over({-1, 2}, 4, GridScheme::affine, GridRole::activations) == Grid{0.2f, 5, 0, 15});
  CHECK(grid_over({-1, 2}, 4, GridScheme::affine, GridRole::weights) == Grid{0.2f, -3, -8, 7});
  // Ties go to the even number of steps.
  const Grid whole{1, 0, -127, 127};
  CHECK(whole.quantize(0.5f) == 0);
  CHECK(whole.quantize(1.5f) == 2);
  CHECK(whole.quantize(-2.5f) == -2);
  CHECK(whole.quantize(-3.5f) == -4);
  CHECK_THROWS_AS(grid_over({0, 1}, 1, GridScheme::affine, GridRole::weights), std::invalid_argument);
  CHECK_THROWS_AS(grid_over({0, 1}, 9, GridScheme::affine, GridRole::weights), std::invalid_argument);
}

TEST_CASE("grid: the mean squared error of uniform numbers is step² / 12") {
  std::vector<float> x = uniform(200'000, -1, 1, 7);
  const Grid grid = grid_over({-1, 1}, 6, GridScheme::symmetric, GridRole::weights);
  std::vector<float> rounded = x;
  round_to_grid(grid, rounded);
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK_MESSAGE(rounded[i] == grid.nearest(x[i]), x[i]);
    const double distance = static_cast<double>(rounded[i]) - static_cast<double>(x[i]);
    error += distance * distance;
  }
  // The standard deviation of a squared uniform error is 2 / √5 of its mean: 200,000 of them lie within 1 % (five deviations).
  const double step = static_cast<double>(grid.scale);
  CHECK(error / static_cast<double>(x.size()) == doctest::Approx(step * step / 12).epsilon(0.01));
}

TEST_CASE("ranges: a percentile leaves out the tails, the least error weighs cutting off against coarse steps") {
  std::vector<float> values(10'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Interval seen{0, 9999};
  CHECK(choose_range({.rule = RangeRule::min_max}, seen, values) == seen);
  // 1 % of 10,000 at either end: the hundred smallest and the hundred largest.
  CHECK(choose_range({.rule = RangeRule::percentile, .percentile = 99}, seen, values) == Interval{100, 9899});
  CHECK(choose_range({.rule = RangeRule::percentile, .percentile = 100}, seen, values) == seen);
  // The same with counts: 0 ninety-nine times, 5 once.
  const std::vector<float> two{0, 5};
  const std::vector<std::uint64_t> counts{990, 10};
  CHECK(choose_range({.rule = RangeRule::percentile, .percentile = 98}, {0, 5}, two, counts) == Interval{0, 0});
  CHECK(choose_range({.rule = RangeRule::percentile, .percentile = 99.5}, {0, 5}, two, counts) == Interval{0, 5});

  // A thousand numbers below 1 and one outlier at 4: at 2 bits (-s, 0, s) the whole range rounds all but the outlier to 0.
  std::vector<float> outlier = uniform(1000, -1, 1, 3);
  outlier.push_back(4);
  std::sort(outlier.begin(), outlier.end());
  const auto error = [&](const Interval& range, int bits) {
    const Grid grid = grid_over(range, bits, GridScheme::symmetric, GridRole::weights);
    double sum = 0;
    for (const float x : outlier) sum += std::pow(static_cast<double>(grid.nearest(x)) - static_cast<double>(x), 2);
    return sum;
  };
  for (const int bits : {2, 3, 4, 8}) {
    CAPTURE(bits);
    const RangeChoice choice{.rule = RangeRule::mse, .role = GridRole::weights, .bits = bits};
    const Interval all{outlier.front(), outlier.back()}, best = choose_range(choice, all, outlier);
    CHECK(error(best, bits) <= error(all, bits));
    for (int part = 10; part <= 100; ++part) {
      const float share = static_cast<float>(part) / 100;
      CHECK(error(best, bits) <= error({all.low * share, all.high * share}, bits) + 1e-9);
    }
    if (bits == 2) CHECK(best.high < 1.5f);
  }
}
