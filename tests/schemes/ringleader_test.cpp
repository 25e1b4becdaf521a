// Ringleader: one update of each worker a round, how old gradients are, and where it settles.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/schemes/course.hpp"
#include "tests/support/point_data.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("ringleader: each worker is sent weights once a round, nothing is dropped, and no gradient is older than 2 p - 2") {
  const std::uint64_t p = 5, rounds = 60;
  for (const char* jitter : {"{kind: exponential}", "{kind: gamma, shape: 8}", "{kind: none}"}) {
    CAPTURE(jitter);
    const Result result = run_timing(cluster(5), {"cluster.workers=[{count: 3, device: node}, {count: 2, device: node, slowdown: 3.3}]",
                                                  std::string("devices.node.jitter=") + jitter,
                                                  "training.stop.updates=" + std::to_string(rounds * p), "training.scheme=ringleader"});
    CHECK(result.record.dropped.contributions == 0);
    std::map<Rank, std::set<std::uint64_t>> read;
    for (const OrderRow& row : result.sink.order) {
      CHECK(row.update - 1 - row.read_version <= 2 * p - 2);
      read[row.worker].insert(row.read_version);
    }
    // Version 0, and one version of each round, 1 to p, p + 1 to 2 p, …, but perhaps of the last.
    for (const auto& [worker, versions] : read) {
      std::set<std::uint64_t> of_rounds;
      for (const std::uint64_t version : versions)
        if (version > 0) CHECK(of_rounds.insert((version - 1) / p).second);
      CHECK(of_rounds.size() >= rounds - 1);
    }
  }
}

TEST_CASE("ringleader settles at the plain mean of the workers' optima, asgd where their speeds pull it") {
  // Speeds 1, 1/2 and 1/4: asgd's pulls cancel at Σ v_i x_i / Σ v_i. Its weights move around there by about the rate times a pull.
  const std::vector<Client> clients = {{40, {1, -2, 3}}, {40, {-4, 5, 0}}, {40, {2, 2, -6}}};
  const PointData points(clients);
  const std::vector<double> speeds = {1, 0.5, 0.25};
  std::vector<double> plain(point_dimensions), by_speed(point_dimensions);
  for (std::size_t k = 0; k < clients.size(); ++k)
    for (std::size_t j = 0; j < point_dimensions; ++j) {
      plain[j] += clients[k].point[j] / 3;
      by_speed[j] += speeds[k] * clients[k].point[j] / 1.75;
    }
  const auto ended = [&](const std::string& scheme, double rate, int updates) {
    return run(equal_bowl(3, scheme, points.data(true), rate, updates),
               {"cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 2}, {count: 1, device: node, slowdown: 4}]"})
        .weights;
  };
  // A step takes off at least a quarter of the rate, of what is 10 off at first: e^-15 in all; and 2^-24 of 10 is rounded in a step.
  CHECK(farthest_from(ended("ringleader", 0.1, 600), plain) < 1e-4);
  CHECK(farthest_from(ended("asgd", 0.005, 12000), by_speed) < 0.1);
  CHECK(farthest_from(plain.empty() ? std::vector<float>() : std::vector<float>(plain.begin(), plain.end()), by_speed) > 0.5);
}

TEST_CASE("ringleader's first round by hand") {
  // Worker 0 takes 1 s, worker 1 2.5 s, A = 1 at x_0 and x_1, from w = 8, rate 1/4. By 2.5 s worker 0 has sent two gradients, worker 1 one,
  // all at w_0: w_1 = w_0 - 1/4 (g_0 + g_1) / 2, which worker 1 gets. Worker 0's third, at 3 s and at w_0 still, makes the second update
  // with the same mean, as gradients at equal weights are equal.
  const double start = 10, rate = 0.25;
  const std::vector<Client> clients = {{8, {1, -2, 3}}, {8, {-4, 5, 0}}};
  const PointData points(clients);
  const Result result = run(equal_bowl(2, "ringleader", points.data(true), rate, 2),
                            {"cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 2.5}]"});
  REQUIRE(result.sink.order.size() == 3);
  CHECK(result.sink.order[0].steps == 2);
  CHECK(result.sink.order[0].worker == 0);
  CHECK(result.sink.order[1].steps == 1);
  CHECK(result.sink.order[1].worker == 1);
  CHECK(result.sink.order[2].worker == 0);
  CHECK(result.sink.order[2].read_version == 0);
  for (std::size_t j = 0; j < point_dimensions; ++j) {
    const double pull = curvature(j) * (start - (clients[0].point[j] + clients[1].point[j]) / 2);
    CHECK(result.weights[j] == doctest::Approx(start - 2 * rate * pull).epsilon(1e-6));
  }
}
