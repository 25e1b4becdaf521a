// Estimates of remaining time: a sweep's rose while a point ran, and a race's left out the race that follows its tuning.
#include <doctest/doctest.h>

#include "scenarios/sweep/remaining_time.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("the time left falls while points run, and counts what is left when one ends") {
  RemainingTime remaining;
  SweepProgress now;
  now.points = 10;
  now.finished = now.found = 2;  // of an earlier run: nobody knows what they took
  now.running = 1;
  CHECK_FALSE(remaining.estimate(now, 5));
  ++now.finished;  // after 10 s: seven are left, 10 s each
  CHECK(*remaining.estimate(now, 10) == doctest::Approx(70));
  double before = 70;
  for (double seconds = 11; seconds < 40; ++seconds) {
    const double left = *remaining.estimate(now, seconds);
    CHECK(left <= before);
    CHECK(left >= 60);  // six have not begun
    before = left;
  }
  ++now.failed;  // after 40 s: two took 20 s each, six are left
  CHECK(*remaining.estimate(now, 40) == doctest::Approx(120));
  CHECK(*remaining.estimate(now, 45) == doctest::Approx(115));
}

TEST_CASE("points that will be requested later are counted from the beginning, once") {
  const Scenario scenario = read_scenario_text(cluster(1), "test.yaml", {});
  SweepState state(":memory:");
  state.record(point_id(scenario, true, "auto"), {});
  PointPool pool({}, state, nullptr, {});
  pool.expect(2);
  CHECK(pool.progress().points == 2);
  const PointRequest request{"", [&] { return Scenario(scenario); }, true};
  for (std::size_t run = 1; run <= 3; ++run) {
    pool.run({request});
    CHECK(pool.progress().finished == run);
    CHECK(pool.progress().points == std::max<std::size_t>(2, run));
  }
}
