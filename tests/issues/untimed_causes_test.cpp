// Causes that a slow or busy machine had no time for were taken for causes that cost nothing.
#include <doctest/doctest.h>

#include <algorithm>

#include "scenarios/reasons/update_parts.hpp"
#include "scenarios/schema/reader.hpp"
#include "tests/support/run.hpp"

namespace untimed_causes_test {

using namespace straggler;
using namespace straggler::test;

TEST_CASE("what binds an update is not known where a cause was not timed") {
  const Scenario scenario = read_scenario_text(cluster(4), "test.yaml", {"cluster.network.link={bandwidth: 1kB/s, latency: 1ms}"});
  const double patient = 600;
  const UpdateParts timed = update_parts(scenario, patient, patient);
  CHECK(timed.bound == Cause::bandwidth);
  CHECK(timed.untold.empty());
  CHECK(bound_text(scenario, timed).find("not timed") == std::string::npos);

  const UpdateParts hasty = update_parts(scenario, patient, 0);
  CHECK(hasty.seconds == timed.seconds);
  CHECK(hasty.bound == Cause::nothing);
  CHECK(std::ranges::find(hasty.untold, Cause::bandwidth) != hasty.untold.end());
  CHECK(bound_text(scenario, hasty).starts_with("not known: what "));

  UpdateParts some = timed;
  some.untold = {Cause::latency};
  CHECK(bound_text(scenario, some) == bound_text(scenario, timed) + "; not timed: what latency costs");
}

}  // namespace untimed_causes_test
