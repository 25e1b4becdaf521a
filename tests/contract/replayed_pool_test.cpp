// A replay left to time which samples of a shared pool a worker drew. If a worker draws several batches for one contribution, draws of
// others came in between at other places than in the run, and the weights were others.
#include <doctest/doctest.h>

#include "tests/support/replay.hpp"
#include "tests/support/variants.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("every scheme: a replay on a slower network draws the same samples from a shared pool") {
  std::size_t others = 0;
  for (const Variant& variant : variants()) {
    if (variant.one_worker) continue;
    CAPTURE(variant.scheme);
    const std::vector<std::string> sets = {"workload.data.partition=shared", "training.stop={updates: 15}"};
    const std::vector<std::string> slower = {"workload.data.partition=shared", "training.stop={updates: 15}",
                                             "cluster.network.link.latency=20ms"};
    const Result result = run_timing(uneven(variant), sets);
    REQUIRE(result.record.weights_key);
    const Result replayed = replay_timing(uneven(variant), slower, result);
    CHECK(replayed.record.weights_key == result.record.weights_key);
    others += run_timing(uneven(variant), slower).record.weights_key != result.record.weights_key ? 1 : 0;
  }
  CHECK(others >= 5);  // left to time, the order is another
}
