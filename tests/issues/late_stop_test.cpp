// A stop just below the longest simulated time (100 days) lost the whole run where something would have ended after them.
#include <doctest/doctest.h>

#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("an event beyond 100 simulated days does not fail a run that stops before it") {
  const std::string stop = "training.stop={simulated_time: 2399h}";
  // A batch takes 7 h: the 343rd would end after 2401 h.
  const Result computing =
      run_timing(cluster(1), {stop, "training.scheme=sequential", "devices.node.compute.affine={overhead: 7h, per_sample: 0s}"});
  CHECK(computing.record.updates == 2399 / 7);
  CHECK(computing.record.end == Time::from_seconds(2399 * 3600.0));
  CHECK(computing.record.outcome == Outcome::completed);
  // Two links make a way of 10 h. Contribution n arrives 20 n - 10 h after the start (and n batches of 0.1 s), the 120th's answer after
  // 2400 h.
  const Result sending = run_timing(cluster(1), {stop, "training.scheme=asgd", "cluster.network.link.latency=5h"});
  CHECK(sending.record.updates == (2399 + 10) / 20);
  // 16,200 bytes at 1 bit/s take 36 h: contribution n arrives after 72 n - 36 h, and the 34th is on its way from 2376 h to 2412 h.
  const Result flowing = run_timing(
      cluster(1), {stop, "training.scheme=asgd", "workload.cost={bytes: 16200B}", "cluster.network.link={bandwidth: 1bps, latency: 0s}"});
  CHECK(flowing.record.updates == (2399 + 36) / 72);
  // A slow spell stretches the batch of that moment to 10,000 days.
  const Result slow =
      run_timing(cluster(1), {stop, "training.scheme=sequential", "devices.node.compute.affine={overhead: 24h, per_sample: 0s}",
                              "cluster.faults=[{kind: slow, worker: 0, from: 48.5h, to: 2398h, times_slower: 10000}]"});
  CHECK(slow.record.updates == 2);
}

TEST_CASE("a run that may last 100 days ends there") {
  const Result result = run_timing(cluster(1), {"training.stop={simulated_time: 2400h}", "training.scheme=sequential",
                                                "devices.node.compute.affine={overhead: 7h, per_sample: 0s}"});
  CHECK(result.record.updates == 2400 / 7);
  CHECK(result.record.end == Time::from_seconds(2400 * 3600.0));
}

TEST_CASE("without such a stop the device or link that is far too slow is named") {
  for (const char* const stop : {"training.stop={updates: 343}", "training.stop={epochs: 1000}"})
    CHECK_THROWS_AS(
        run_timing(cluster(1), {stop, "training.scheme=sequential", "devices.node.compute.affine={overhead: 7h, per_sample: 0s}"}),
        RunFailed);
}
