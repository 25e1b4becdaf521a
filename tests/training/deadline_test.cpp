// The deadline that follows arrivals: median + k MAD.
#include <doctest/doctest.h>

#include "sim/training/deadline.hpp"

using namespace straggler;

namespace {

Time ms(double span) { return Time::from_seconds(span / 1e3); }

}  // namespace

TEST_CASE("an adaptive deadline is known after p arrivals: the median and k times the median distance from it") {
  AdaptiveDeadline deadline(3, 4);
  for (const double span : {100, 300, 120}) {
    deadline.arrived(ms(span));
    CHECK_FALSE(deadline.now());
  }
  deadline.arrived(ms(150));  // median 135; distances 35, 165, 15, 15: median 25
  REQUIRE(deadline.now());
  CHECK(deadline.now()->seconds() == doctest::Approx(0.135 + 3 * 0.025).epsilon(1e-9));
  deadline.arrived(ms(110));  // 100, 110, 120, 150, 300; distances 20, 10, 0, 30, 180
  CHECK(deadline.now()->seconds() == doctest::Approx(0.120 + 3 * 0.020).epsilon(1e-9));
}

TEST_CASE("an adaptive deadline's spread counts 5 % of the median at least") {
  AdaptiveDeadline deadline(3, 2);
  for (int i = 0; i < 3; ++i) deadline.arrived(ms(200));
  CHECK(deadline.now()->seconds() == doctest::Approx(0.2 + 3 * 0.01).epsilon(1e-9));
}

TEST_CASE("an adaptive deadline forgets all but the latest 4 p arrivals") {
  AdaptiveDeadline deadline(0, 2);
  for (int i = 0; i < 8; ++i) deadline.arrived(ms(1000));
  for (int i = 0; i < 5; ++i) deadline.arrived(ms(10));  // five of eight
  CHECK(deadline.now()->seconds() == doctest::Approx(0.010).epsilon(1e-9));
}
