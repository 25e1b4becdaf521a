// What servers spend their time on.
#include "sim/record/server_times.hpp"

#include <doctest/doctest.h>

using namespace straggler;

namespace {
Time at(double seconds) { return Time::from_seconds(seconds); }
WideTicks ticks(double seconds) { return at(seconds).ticks(); }
}  // namespace

TEST_CASE("a server is busy, else communicates while bytes are in flight, else is idle") {
  ServerTimes times(2);
  times.flight(0, at(0.5), true);
  times.busy(0, at(1), at(2));
  times.busy(0, at(2), at(3));  // at once after the other
  times.flight(0, at(1.25), true);
  // Halfway: what lies ahead is not yet counted.
  const ByPhase<WideTicks> half = times.ticks(0, at(1.5));
  CHECK(half[Phase::compute] == ticks(0.5));
  CHECK(half[Phase::communication] == ticks(0.5));
  CHECK(half[Phase::idle] == ticks(0.5));
  times.flight(0, at(2.5), false);
  times.flight(0, at(3.5), false);
  times.busy(0, at(5), at(9));
  const ByPhase<WideTicks> all = times.ticks(0, at(6));
  CHECK(all[Phase::compute] == ticks(1) + ticks(1) + ticks(1));  // 1 to 3, 5 to 6
  CHECK(all[Phase::communication] == ticks(0.5) + ticks(0.5));   // 0.5 to 1, 3 to 3.5: in between it was busy
  CHECK(all[Phase::idle] == ticks(0.5) + ticks(1.5));            // 0 to 0.5, 3.5 to 5
  CHECK(times.ticks(1, at(6))[Phase::idle] == ticks(6));         // the other one has done nothing
}

TEST_CASE("a tariff: joules by what is drawn in a phase, money for all but the time down") {
  Tariff tariff;
  tariff.price_per_hour = 7.2;
  tariff.power = {300, 50, 20};
  ByPhase<WideTicks> spent;
  spent[Phase::compute] = ticks(10);
  spent[Phase::wasted] = ticks(2);
  spent[Phase::communication] = ticks(4);
  spent[Phase::loading] = ticks(1);
  spent[Phase::idle] = ticks(3);
  spent[Phase::down] = ticks(80);
  CHECK(tariff.joules(spent) == doctest::Approx(300 * 12 + 50 * 4 + 20 * 4).epsilon(1e-12));
  CHECK(tariff.price(spent) == doctest::Approx(7.2 * 20 / 3600).epsilon(1e-12));
  tariff.billed_while_down = true;
  CHECK(tariff.price(spent) == doctest::Approx(7.2 * 100 / 3600).epsilon(1e-12));
}
