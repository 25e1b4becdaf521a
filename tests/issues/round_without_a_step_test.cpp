// Non-blocking SGD: the worker that has completed its batch stops the others and crashes before its own contribution arrives. If none of
// the others has taken a step yet, the round has nothing to average: the weights stay as they are.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/point_data.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a round in which nobody's step arrives leaves the weights as they are") {
  // Worker 1 is twice as slow. A batch takes 8 ms, a message of 12 bytes 2 ms up and 2 ms down. Worker 0 signals at 8 ms and crashes at 9.
  const std::vector<Client> clients = {{8, {1, -0.5, 0.7}}, {8, {-0.4, 0.5, 0}}};
  const PointData points(clients);
  std::vector<std::string> sets = {"cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 2}]",
                                   "cluster.network.link={bandwidth: 6kB/s, latency: 0s}",
                                   "cluster.faults=[{kind: crash, worker: 0, at: 9ms}]"};
  for (const std::string more :
       {"exchange: weights", "exchange: weights, average: by_samples", "exchange: gradients", "exchange: gradients, average: by_samples"}) {
    CAPTURE(more);
    const std::string scheme = "{kind: nonblocking, " + more + "}";
    const Result first = run(equal_bowl(2, scheme, points.data(true), 0.1, 1), sets);
    CHECK(first.record.outcome == Outcome::completed);
    CHECK(first.record.samples == 0);
    CHECK(farthest_from(first.weights, {10, 10, 10}) == 0);
    for (const OrderRow& row : first.sink.order) CHECK(row.steps == 0);
    CHECK(first.sink.order.size() == 1);
    // Worker 1 goes on alone, to its own optimum.
    const Result later = run(equal_bowl(2, scheme, points.data(true), 0.1, 600), sets);
    CHECK(later.record.outcome == Outcome::completed);
    CHECK(farthest_from(later.weights, clients[1].point) < 1e-4);
  }
}
