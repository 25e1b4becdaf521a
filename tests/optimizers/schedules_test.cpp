// Schedules that end with the run, against their formulas.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "models/optimizers/optimizer.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/text.hpp"

namespace straggler::test::schedules_test {
namespace {

constexpr double unending = std::numeric_limits<double>::infinity();

Schedule::Shape shape_of(const char* kind, Parameters given, double total) {
  const ScheduleEntry& entry = Registry<ScheduleEntry>::instance().at(kind);
  return entry.make(complete(entry.parameters, std::move(given)), total);
}

}  // namespace

TEST_CASE("cosine: from 1 over the middle to the end, and level beyond") {
  const auto whole = shape_of("cosine", {}, 8);
  CHECK(whole(0) == 1);
  CHECK(whole(2) == doctest::Approx((1 + std::sqrt(0.5)) / 2));  // cos of 45 degrees
  CHECK(whole(4) == doctest::Approx(0.5));
  CHECK(whole(6) == doctest::Approx((1 - std::sqrt(0.5)) / 2));
  CHECK(std::abs(whole(8)) < 1e-15);
  CHECK(std::abs(whole(9)) < 1e-15);
  const auto partly = shape_of("cosine", {{"end", 0.2}}, 3);
  CHECK(partly(0) == 1);
  CHECK(partly(1) == doctest::Approx(0.2 + 0.8 * 0.75));  // cos of 60 degrees is 1/2
  CHECK(partly(3) == doctest::Approx(0.2));
  CHECK(partly(100) == doctest::Approx(0.2));
}

TEST_CASE("polynomial: linear by default, powers and ends as asked for") {
  const auto line = shape_of("polynomial", {}, 10);
  for (const double epochs : {0.0, 2.5, 9.0, 10.0}) CHECK(line(epochs) == doctest::Approx(1 - epochs / 10));
  CHECK(line(11) == 0);
  const auto square = shape_of("polynomial", {{"power", 2.0}, {"end", 0.1}}, 4);
  CHECK(square(0) == 1);
  CHECK(square(1) == doctest::Approx(0.1 + 0.9 * 0.5625));
  CHECK(square(2) == doctest::Approx(0.1 + 0.9 * 0.25));
  CHECK(square(5) == doctest::Approx(0.1));
  CHECK(shape_of("polynomial", {{"power", 0.5}}, 4)(3) == doctest::Approx(0.5));
}

TEST_CASE("warmup_stable_decay: level, and over the last share of the run down to the final rate, in three shapes") {
  const auto line = shape_of("warmup_stable_decay", {}, 10);
  for (const double epochs : {0.0, 5.0, 8.0}) CHECK(line(epochs) == 1);
  CHECK(line(8.5) == doctest::Approx(0.75));
  CHECK(line(9.5) == doctest::Approx(0.25));
  CHECK(std::abs(line(10)) < 1e-15);
  CHECK(std::abs(line(11)) < 1e-15);
  const auto cosine = shape_of("warmup_stable_decay", {{"decay.share", 0.5}, {"decay.shape", "cosine"}, {"final", 0.1}}, 8);
  CHECK(cosine(4) == 1);
  CHECK(cosine(4 + 4.0 / 3) == doctest::Approx(0.1 + 0.9 * 0.75));  // cos of 60 degrees is 1/2
  CHECK(cosine(6) == doctest::Approx(0.1 + 0.9 * 0.5));
  CHECK(cosine(9) == doctest::Approx(0.1));
  const auto root = shape_of("warmup_stable_decay", {{"decay.share", 1.0}, {"decay.shape", "sqrt"}, {"final", 0.5}}, 9);
  CHECK(root(0) == 1);
  CHECK(root(1) == doctest::Approx(0.5 + 0.5 * 2 / 3));
  CHECK(root(4) == doctest::Approx(0.5 + 0.5 / 3));
  CHECK(root(9) == doctest::Approx(0.5));
  CHECK_THROWS_AS(shape_of("warmup_stable_decay", {{"decay.share", 0.0}}, 5), std::invalid_argument);
  CHECK_THROWS_AS(shape_of("warmup_stable_decay", {{"decay.shape", "step"}}, 5), std::invalid_argument);
  CHECK_THROWS_AS(shape_of("warmup_stable_decay", {{"final", 1.5}}, 5), std::invalid_argument);
}

TEST_CASE("with a warmup in front and linear scaling they give the product") {
  const Schedule schedule(shape_of("cosine", {}, 8), Schedule::Scaling::linear, 2);
  CHECK(schedule.rate(0.1, 0, 4) == doctest::Approx(0.1));
  CHECK(schedule.rate(0.1, 1, 4) == doctest::Approx((0.1 + 0.4) / 2 * (1 + std::cos(std::acos(-1.0) / 8)) / 2));
  CHECK(schedule.rate(0.1, 4, 4) == doctest::Approx(0.4 * 0.5));
}

TEST_CASE("a schedule that ends with the run needs to know when that is") {
  for (const char* kind : {"cosine", "polynomial", "warmup_stable_decay"}) {
    CAPTURE(kind);
    const std::string said = error_of<std::invalid_argument>([&] { shape_of(kind, {}, unending); });
    CHECK(said ==
          std::string(kind) + ": needs to know when training ends, in epochs, and training.stop has none; add training.stop.epochs");
    CHECK_THROWS_AS(shape_of(kind, {{kind == std::string("warmup_stable_decay") ? "final" : "end", 1.5}}, 5), std::invalid_argument);
    CHECK_THROWS_AS(shape_of(kind, {{"factor", 0.5}}, 5), std::invalid_argument);
  }
  CHECK_THROWS_AS(shape_of("polynomial", {{"power", 0.0}}, 5), std::invalid_argument);
}

}  // namespace straggler::test::schedules_test
