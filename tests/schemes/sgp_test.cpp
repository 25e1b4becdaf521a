// Stochastic gradient push in whole runs: what a step takes, what is sent, and where the mean of all estimates goes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/schemes/bowl.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("SGP: a step takes the gradient, then one message a worker, of the weights and 8 bytes") {
  const double batch = 0.1, latency = 50e-6, bandwidth = 5e6;
  const std::uint64_t bytes = 1'000'000;
  const int updates = 7;
  for (const int workers : {1, 2, 3, 8, 16}) {
    CAPTURE(workers);
    const Result result = run_timing(cluster(workers), {"training.scheme=sgp", "training.stop.updates=" + std::to_string(updates),
                                                        "workload.cost={bytes: " + std::to_string(bytes) + "B}",
                                                        "cluster.network.link={bandwidth: 5MB/s, latency: 50us}"});
    const double exchange = workers > 1 ? static_cast<double>(bytes + 8) / bandwidth + 2 * latency : 0;
    CHECK(result.record.end.seconds() == doctest::Approx(updates * (batch + exchange)).epsilon(1e-9));
    CHECK(result.record.bytes_received == (workers > 1 ? updates * static_cast<std::uint64_t>(workers) * (bytes + 8) : 0));
    CHECK(result.record.staleness == StalenessHistogram{{0, static_cast<std::uint64_t>(updates * workers)}});
  }
}

TEST_CASE("SGP: where gradients are linear the mean of all estimates follows synchronous SGD") {
  // A step takes 8 roundings at most of numbers up to 16, and shrinks what was off before; a mean takes p + 1 more; both runs.
  const int steps = 25;
  for (const int workers : {1, 2, 3, 5, 8}) {
    CAPTURE(workers);
    const std::vector<std::string> jitter = {"devices.node.jitter={kind: exponential}"};
    const std::vector<float> pushed = run(bowl_scenario(workers, "sgp", steps), jitter).weights;
    const std::vector<float> synchronous = run(bowl_scenario(workers, "ssgd", steps), jitter).weights;
    for (std::size_t i = 0; i < pushed.size(); ++i)
      CHECK(std::abs(static_cast<double>(pushed[i]) - static_cast<double>(synchronous[i])) <=
            2 * (8 * steps + workers + 1) * 16 * std::ldexp(1.0, -24));
  }
}

TEST_CASE("SGP: the members reach the optimum that all samples share, after crashes, returns and a late join") {
  // One sample for each worker, in the same place: the bowl's only optimum is known from a run without faults, and stays.
  const std::vector<std::string> calm = {"workload.data={kind: gaussian, features: 3, classes: 1, samples: 1, test_samples: 10}",
                                         "workload.data.partition=shared", "training.batch.per_worker=1"};
  std::vector<std::string> faults = calm;
  faults.push_back(
      "cluster.faults=[{kind: crash, worker: 1, at: 3.5s, restart_after: 7s}, {kind: crash, worker: 2, at: 4.2s}, {kind: leave, worker: 3, "
      "at: 9.1s}, {kind: join, worker: 4, at: 6.3s}]");
  const std::vector<float> expected = run(bowl_scenario(6, "sgp", 150), calm).weights;
  const Result faulty = run(bowl_scenario(6, "sgp", 300), faults);
  REQUIRE(faulty.record.updates == 300);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(faulty.weights[i] - expected[i]) < 1e-4);
}
