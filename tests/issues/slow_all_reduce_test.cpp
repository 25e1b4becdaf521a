// Where every all-reduce takes longer than a simulation can, choosing one ended `check` and `run` in an internal error, though the run ends
// at its stop before the first one is over.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/run.hpp"
#include "tests/support/scenarios.hpp"

using namespace straggler;
using namespace straggler::test;

namespace slow_all_reduce_test {
namespace {

// A message passes two links of 1,000 h, so it takes 83 days; all-reduces of four workers take two rounds or more.
std::string text() {
  return scenario_text({.workers = "[{count: 4, device: node, link: {latency: 1000h}}]",
                        .network = "{link: {bandwidth: 1Gbps, latency: 1ms}}",
                        .cost = "{bytes: 3kB}",
                        .scheme = "ssgd",
                        .stop = "{updates: 3, simulated_time: 100s}"});
}

}  // namespace

TEST_CASE("all-reduces that no simulation can hold are only refused when one begins") {
  const std::vector<std::string> computes_longer_than_it_runs = {"devices.node.compute={affine: {overhead: 1h}}"};
  CHECK(run_timing(text(), computes_longer_than_it_runs).record.updates == 0);
  RunOptions options;
  options.timing_only = true;
  const Experiment checked(read_scenario_text(text(), "/scenario.yaml", computes_longer_than_it_runs), options);
  CHECK_NOTHROW(checked.explain());
  const std::vector<CollectiveTime> times = checked.collective_times();  // libraries whose messages go round in pieces take less
  CHECK(std::ranges::count_if(times, [](const CollectiveTime& each) { return std::isinf(each.seconds); }) >= 5);
}

}  // namespace slow_all_reduce_test
