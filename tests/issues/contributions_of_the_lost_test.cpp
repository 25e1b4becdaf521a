// A contribution of a worker that had left closed a round too early.
#include <doctest/doctest.h>

#include <string>

#include "support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("where all clients of a round are lost, all that are asked in their stead are waited for") {
  // Client 0 is the fastest alone, so it is the only one of round 1. It sends at 100 ms and leaves at 120 ms, when the others are asked.
  // Its contribution arrives at 500 ms, client 1's 1 s after the invitation, and client 2's 2 s after it.
  constexpr double leaves = 0.12, slowest = 2;
  for (const std::string kind : {"fedavg", "fedprox", "fednova", "fedopt, server_rate: 1"}) {
    CAPTURE(kind);
    const Result result = run_timing(
        cluster(3), {"training.scheme={kind: " + kind + ", clients: 1, local_steps: 1, selection: {kind: fastest_of, d: 3}}",
                     "cluster.workers=[{count: 1, device: node, link: {latency: 400ms}}, {count: 1, device: node, slowdown: 10}, "
                     "{count: 1, device: node, slowdown: 20}]",
                     "cluster.faults=[{kind: leave, worker: 0, at: 120ms}]", "training.stop.updates=1"});
    REQUIRE(result.sink.order.size() == 3);
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(result.sink.order[k].update == 1);
      CHECK(result.sink.order[k].worker == static_cast<Rank>(k));
      CHECK(result.sink.order[k].time.seconds() == doctest::Approx(leaves + slowest).epsilon(1e-6));
    }
    CHECK(result.record.dropped.contributions == 0);
  }
}
