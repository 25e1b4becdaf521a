// Slips that a review found before the first release: each case is one, and says what should happen instead.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a server is not blocked by the latency of its replies") {
  // Eight workers, one way takes 1 s: a cycle is 0.1 s of compute and two ways. Every worker makes one update a cycle.
  const Result result = run_timing(cluster(8), {"training.scheme=asgd", "cluster.network.link={bandwidth: 1000GB/s, latency: 500ms}",
                                                "training.stop={simulated_time: 100s}"});
  const double cycles = (100 - 1.1) / 2.1;  // the first gradients arrive after 1.1 s
  CHECK(result.record.updates == 8 * (1 + static_cast<std::uint64_t>(cycles)));
  for (const WorkerRecord& worker : result.record.workers) CHECK(worker.split[Phase::idle] < Time::from_seconds(1e-3));
}

namespace {

/// Weights less their optimum after `rounds` of non-blocking SGD with momentum on a bowl whose gradient is just that difference. The fast
/// worker takes two steps a round, the slow one none.
double averaged_by_hand(const std::string& mode, double start, double rate, double momentum, int rounds) {
  double weights = start, of_fast = 0, of_slow = 0;  // the workers' velocities
  for (int round = 0; round < rounds; ++round) {
    double moved = weights;
    for (int step = 0; step < 2; ++step) {
      of_fast = momentum * of_fast + moved;
      moved -= rate * of_fast;
    }
    weights = (moved + weights) / 2;
    if (mode == "reset") of_fast = 0;
    if (mode == "average") of_fast = of_slow = (of_fast + of_slow) / 2;
  }
  return weights;
}

}  // namespace

TEST_CASE("averaged momentum survives a worker that took no step") {
  const std::string data = (std::filesystem::temp_directory_path() / ("straggler_zeros_" + std::to_string(getpid()) + ".csv")).string();
  std::ofstream file(data);
  for (int row = 0; row < 128; ++row) file << (row % 2 ? "0,a\n" : "0,b\n");
  file.close();
  std::vector<double> expected;
  for (const std::string mode : {"keep", "reset", "average"}) {
    CAPTURE(mode);
    // Mini-batches of 32 ms and 96 ms; the fast worker's batch of two is over before the slow one has done one.
    const Result result = run(cluster(2), {"cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 3}]",
                                           "workload.model={kind: quadratic, condition: 1, start: 10}",
                                           fmt::format("workload.data={{kind: csv, path: {0}, test_path: {0}, normalize: none}}", data),
                                           "training.batch.per_worker=64", "training.optimizer.momentum=0.9", "training.stop.updates=20",
                                           "training.scheme={kind: nonblocking, minibatch: 32, momentum_at_sync: " + mode + "}"});
    REQUIRE(result.weights.size() == 1);
    expected.push_back(averaged_by_hand(mode, 10, 0.1, 0.9, 20));
    CHECK(std::abs(static_cast<double>(result.weights[0]) - expected.back()) < 1e-4);
    for (const OrderRow& row : result.sink.order) CHECK(row.steps == (row.worker == 0 ? 2 : 0));
  }
  std::filesystem::remove(data);
  CHECK(std::abs(expected[0] - expected[1]) > 0.01);  // the three do differ
  CHECK(std::abs(expected[0] - expected[2]) > 0.01);
  CHECK(std::abs(expected[1] - expected[2]) > 0.01);
}

TEST_CASE("a client that is sampled later deals with the averaged momentum like any other") {
  bool told_apart = false;
  for (int seed = 1; seed <= 6; ++seed) {
    std::vector<Result> results;
    for (const char* mode : {"reset", "average"})
      results.push_back(run(cluster(2), {"workload.data.samples=1000", "training.optimizer.momentum=0.9", "training.stop={updates: 2}",
                                         "seed=" + std::to_string(seed),
                                         "training.scheme={kind: fedavg, fraction: 0.5, momentum_at_sync: " + std::string(mode) + "}"}));
    told_apart = told_apart || results[0].weights != results[1].weights;
    const bool changed_client = results[0].sink.order[0].worker != results[0].sink.order[1].worker;
    if (changed_client) CHECK(results[0].weights != results[1].weights);
  }
  CHECK(told_apart);
}

TEST_CASE("no evaluation is lost to rounding") {
  const Result result = run_timing(cluster(4), {"workload.data.samples=1000", "training.batch.per_worker=25",
                                                "training.evaluate={every: {epochs: 0.1}}", "training.stop={epochs: 3}"});
  REQUIRE(result.record.curve.size() == 31);
  for (std::size_t i = 0; i < 31; ++i) CHECK(result.record.curve[i].samples == 100 * i);
}

TEST_CASE("a target that holds from the start ends the run at once") {
  const Result result =
      run(cluster(2), {"training.stop={updates: 50, target_accuracy: 0.01}", "training.evaluate={every: {updates: 1}, sustain: 1}"});
  CHECK(result.record.outcome == Outcome::target_reached);
  CHECK(result.record.end == Time());
  CHECK(result.record.updates == 0);
}

TEST_CASE("a target with a single evaluation cannot be reached, and the run says so") {
  const Result result = run(cluster(2), {"training.stop={updates: 5, target_accuracy: 0.01}"});
  CHECK(result.record.outcome == Outcome::completed);
  REQUIRE(result.record.warnings.size() == 1);
  CHECK(result.record.warnings[0].find("set evaluate.every") != std::string::npos);
}

TEST_CASE("samples that drop_last leaves out belong to no epoch") {
  // 1,000 samples at batch 600: one batch a pass.
  const Result result = run_timing(cluster(1), {"workload.data.samples=1000", "training.batch={per_worker: 600, drop_last: true}",
                                                "training.stop={epochs: 3}", "training.scheme=sequential"});
  CHECK(result.record.updates == 3);
  CHECK(result.record.epochs == 3);
  for (const char* partition : {"iid", "shared"})
    CHECK_THROWS_AS(run_timing(cluster(10),
                               {"workload.data.samples=1000", "workload.data.partition=" + std::string(partition), "training.scheme=fedavg",
                                "training.batch={per_worker: 256, drop_last: true}", "training.stop={epochs: 3}"}),
                    ScenarioErrors);
}

TEST_CASE("clients of a shared pool take their share and no more") {
  const Result result = run_timing(cluster(10), {"workload.data.samples=1000", "workload.data.partition=shared", "training.scheme=fedavg",
                                                 "training.batch.per_worker=32", "training.stop={updates: 10}"});
  CHECK(result.record.epochs == 10);
}

TEST_CASE("workers that finish together signal together, at a cost that grows with their number, not with its square") {
  std::vector<double> events_per_worker;
  for (const int p : {50, 400}) {
    const Result result = run_timing(cluster(p), {"training.scheme={kind: nonblocking, minibatch: 50}", "training.stop={updates: 5}"});
    for (const OrderRow& row : result.sink.order) CHECK(row.steps == 2);
    events_per_worker.push_back(static_cast<double>(result.record.events) / p);
  }
  CHECK(events_per_worker[1] < 1.2 * events_per_worker[0]);
}
