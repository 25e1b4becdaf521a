// A contribution of a worker that had left closed a round too early, and dropped ones counted as work that was used.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("where all clients of a round are lost, as many others are asked in their stead, and the lost one's contribution is dropped") {
  // Client 0 is the fastest alone, so it is the only one of round 1. It sends at 100 ms and leaves at 120 ms, when client 1, the faster of
  // the others, is asked. Client 0's contribution arrives at 500 ms, client 1's 1 s after the invitation.
  constexpr double leaves = 0.12, of_one = 1;
  for (const std::string kind : {"fedavg", "fedprox", "fednova", "fedopt, server_rate: 1"}) {
    CAPTURE(kind);
    const Result result = run_timing(
        cluster(3), {"training.scheme={kind: " + kind + ", clients: 1, local_steps: 1, selection: {kind: fastest_of, d: 3}}",
                     "cluster.workers=[{count: 1, device: node, link: {latency: 400ms}}, {count: 1, device: node, slowdown: 10}, "
                     "{count: 1, device: node, slowdown: 20}]",
                     "cluster.faults=[{kind: leave, worker: 0, at: 120ms}]", "training.stop.updates=1"});
    REQUIRE(result.sink.order.size() == 1);
    CHECK(result.sink.order[0].update == 1);
    CHECK(result.sink.order[0].worker == 1);
    CHECK(result.sink.order[0].time.seconds() == doctest::Approx(leaves + of_one).epsilon(1e-6));
    CHECK(result.record.dropped.contributions == 1);
    CHECK(result.record.workers[0].split[Phase::wasted].seconds() == doctest::Approx(0.1).epsilon(1e-9));
  }
}

TEST_CASE("a contribution that arrives after its update, from a worker that has left, is dropped, and its work is wasted") {
  struct Case {
    std::string scheme;
    int steps;  // of a contribution
  };
  for (const auto& [scheme, steps] : std::vector<Case>{{"{kind: fedavg, local_steps: 1}", 1},
                                                       {"{kind: fednova, local_steps: 3}", 3},
                                                       {"{kind: ssgd, via: server, on_failure: drop}", 1},
                                                       {"{kind: local_sgd, via: server, steps: 2, on_failure: drop}", 2},
                                                       {"{kind: nonblocking, on_failure: drop}", 1},
                                                       {"{kind: nonblocking, exchange: gradients, on_failure: drop}", 1}}) {
    CAPTURE(scheme);
    // A step takes 100 ms. Worker 1's contribution leaves when its last step is over, 50 ms before it does, and arrives 200 ms later: the
    // others' update was made when it left.
    const double work = 0.1 * steps;
    const auto milliseconds = [](double seconds) { return std::to_string(std::lround(1000 * seconds)) + "ms"; };
    const Result result =
        run_timing(cluster(2), {"training.scheme=" + scheme,
                                "cluster.workers=[{count: 1, device: node}, {count: 1, device: node, link: {latency: 200ms}}]",
                                "cluster.faults=[{kind: leave, worker: 1, at: " + milliseconds(work + 0.05) + "}]"});
    CHECK(result.record.updates == 10);
    CHECK(result.record.workers[1].updates == 0);
    CHECK(result.record.dropped.contributions == 1);
    CHECK(result.record.dropped.samples == static_cast<std::uint64_t>(100 * steps));
    CHECK(result.record.workers[1].split[Phase::compute] == Time());
    CHECK(result.record.workers[1].split[Phase::wasted].seconds() == doctest::Approx(work).epsilon(1e-9));
    CHECK(result.record.workers[0].split[Phase::wasted] == Time());
  }
}

TEST_CASE("of two contributions of one worker to one update, in two lives, the second is dropped, and its work is wasted") {
  // Worker 1 takes 1 s. Worker 0 has contributed at 100 ms, crashes, and contributes to the same update again, at 400 ms.
  for (const std::string scheme : {"{kind: ssgd, via: server, on_failure: drop}", "{kind: ssgd, via: server, on_failure: wait}",
                                   "{kind: local_sgd, via: server, steps: 1}"}) {
    CAPTURE(scheme);
    const Result result = run_timing(
        cluster(2), {"training.scheme=" + scheme, "cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 10}]",
                     "cluster.faults=[{kind: crash, worker: 0, at: 200ms, restart_after: 100ms}]"});
    REQUIRE(result.sink.order.size() == 20);
    CHECK(result.record.end.seconds() == doctest::Approx(10).epsilon(1e-6));
    CHECK(result.record.dropped.contributions == 1);
    CHECK(result.record.dropped.samples == 100);
    CHECK(result.record.workers[0].split[Phase::wasted].seconds() == doctest::Approx(0.1).epsilon(1e-9));
    CHECK(result.record.workers[0].split[Phase::compute].seconds() == doctest::Approx(1).epsilon(1e-9));
  }
}

TEST_CASE("a client that has contributed to a round and comes back waits for the next: its contribution counts once") {
  // As above: worker 0 contributes at 100 ms, and worker 1 at 1 s.
  const Result result = run_timing(cluster(2), {"training.scheme={kind: fedavg, local_steps: 1}",
                                                "cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 10}]",
                                                "cluster.faults=[{kind: crash, worker: 0, at: 200ms, restart_after: 100ms}]"});
  REQUIRE(result.sink.order.size() == 20);
  CHECK(result.record.end.seconds() == doctest::Approx(10).epsilon(1e-6));
  CHECK(result.record.dropped.contributions == 0);
  CHECK(result.record.workers[0].split[Phase::wasted] == Time());
}
