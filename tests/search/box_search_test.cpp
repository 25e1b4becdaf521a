#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "scenarios/search/find.hpp"
#include "sim/base/random.hpp"

namespace box_search_test {

using namespace straggler;

namespace {

struct Tried {
  std::vector<double> point;
  double value;
};

constexpr double missed = std::numeric_limits<double>::infinity();

/// The best of `budget` points, by a function of the settings' values.
Tried least(const std::vector<Setting>& over, std::size_t budget, const std::function<double(const std::vector<double>&)>& function,
            std::size_t* count = nullptr) {
  BoxSearch search(over, budget, 3);
  std::optional<Tried> best;
  std::size_t tried = 0;
  while (true) {
    const auto points = search.next(best ? std::optional(best->point) : std::nullopt);
    if (points.empty()) break;
    for (const std::vector<double>& point : points) {
      ++tried;
      std::vector<double> values;
      for (std::size_t s = 0; s < over.size(); ++s) values.push_back(std::stod(over[s].value(point[s]).yaml));
      const double value = function(values);
      if (value != missed && (!best || value < best->value)) best = Tried{point, value};
    }
  }
  CHECK(tried <= budget);
  if (count) *count = tried;
  if (!best) return {{}, missed};
  for (std::size_t s = 0; s < over.size(); ++s) best->point[s] = std::stod(over[s].value(best->point[s]).yaml);
  return *best;
}

const Setting rate = Setting::range("rate", {"0.001", "1", true, false});
const Setting workers = Setting::range("workers", {"1", "64", false, true});

}  // namespace

TEST_CASE("one setting, a smooth valley: the best within a few per cent of the range") {
  for (const double truth : {0.0015, 0.01, 0.08, 0.9}) {
    const Tried best = least({rate}, 30, [&](const auto& at) { return std::pow(std::log(at[0] / truth), 2); });
    CHECK(std::abs(std::log(best.point[0] / truth)) < 0.02 * std::log(1000.0));
  }
}

TEST_CASE("whole numbers: exact where the valley has one bottom, with fewer tries than there are numbers") {
  for (const double truth : {1, 2, 17, 33, 63, 64}) {
    std::size_t tried = 0;
    const Tried best = least(
        {workers}, 30, [&](const auto& at) { return std::abs(at[0] - truth); }, &tried);
    CHECK(best.point[0] == truth);
    CHECK(tried <= 30);
  }
}

TEST_CASE("two settings, a narrow valley across both") {
  const auto function = [](const std::vector<double>& at) {
    const double u = std::log(at[0] / 0.05) / std::log(1000.0), v = (at[1] - 40) / 64;
    return 1 + 4 * u * u + v * v + 3 * u * v;
  };
  const Tried best = least({rate, workers}, 60, function);
  CHECK(best.value < 1.005);
}

TEST_CASE("where most points miss the target, the search follows those that reach it") {
  // Only between 0.2 and 0.4 of a logarithmic range of three decades is there a value: a tenth of the points.
  const Tried best = least({rate}, 40, [](const auto& at) { return at[0] < 0.2 || at[0] > 0.4 ? missed : std::abs(at[0] - 0.3); });
  CHECK(best.point[0] == doctest::Approx(0.3).epsilon(0.05));
  CHECK(least({rate}, 40, [](const auto&) { return missed; }).value == missed);
}

TEST_CASE("noise of a tenth, and a plateau, leave it near the bottom") {
  int near = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, "noise");
    const Tried best = least({rate}, 40, [&](const auto& at) {
      const double x = std::abs(std::log10(at[0] / 0.03));
      return 1 + std::max(0.0, x * x - 0.01) + 0.1 * (random.uniform() - 0.5);
    });
    // Beyond 0.33 decades the valley is more than the whole noise above its bottom: 0.33^2 - 0.01 = 0.1.
    near += std::abs(std::log10(best.point[0] / 0.03)) <= 0.34 ? 1 : 0;
  }
  CHECK(near == 20);
}

TEST_CASE("as many settings as the budget: all of them, once each") {
  std::size_t tried = 0;
  const Setting choice = Setting::choices("c", {{"1", "1", {}}, {"2", "2", {}}, {"7", "7", {}}});
  const Setting few = Setting::range("n", {"1", "5", false, true});
  const Tried best = least(
      {choice, few}, 15, [](const auto& at) { return std::abs(at[0] - 7) + std::abs(at[1] - 4); }, &tried);
  CHECK(tried == 15);
  CHECK(best.point == std::vector<double>{7, 4});
}

TEST_CASE("choices beside a range") {
  const Setting choice = Setting::choices("c", {{"1", "1", {}}, {"2", "2", {}}, {"3", "3", {}}});
  const Tried best = least({choice, rate}, 40, [](const auto& at) { return std::abs(at[0] - 2) + std::pow(std::log10(at[1] / 0.1), 2); });
  CHECK(best.point[0] == 2);
  CHECK(std::abs(std::log10(best.point[1] / 0.1)) < 0.3);
}

}  // namespace box_search_test
