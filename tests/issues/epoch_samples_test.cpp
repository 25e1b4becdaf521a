// What an epoch holds follows from how workers draw: whole batches where the last partial one is dropped, mini-batches of at most a batch.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

std::string nonblocking(int minibatch, const char* counters = "persist") {
  return "training.scheme={kind: nonblocking, minibatch: " + std::to_string(minibatch) + ", counters: " + counters + "}";
}

std::string dropping(const std::string& batch) { return "training.batch={" + batch + ", drop_last: true}"; }

}  // namespace

TEST_CASE("a mini-batch that is larger than the batch is the batch") {
  // Parts of 30 hold one batch of 16, parts of 50 three.
  for (const auto& parts : {std::pair{30, 1}, std::pair{50, 3}}) {
    const int part = parts.first, batches = parts.second;
    for (const int minibatch : {16, 32, 1000}) {
      CAPTURE(part);
      CAPTURE(minibatch);
      const Result result = run_timing(cluster(8), {"workload.data.samples=" + std::to_string(8 * part), dropping("per_worker: 16"),
                                                    nonblocking(minibatch), "training.stop={epochs: 10}"});
      CHECK(result.record.samples == static_cast<std::uint64_t>(8 * 16 * batches * 10));
      CHECK(result.record.updates == static_cast<std::uint64_t>(batches * 10));
      CHECK(result.record.epochs == 10);
    }
  }
}

TEST_CASE("a device holds a mini-batch, at most a batch") {
  const auto bytes = [](int minibatch) {
    return Experiment(read_scenario_text(cluster(2), "test.yaml",
                                         {"training.batch.per_worker=16", "devices.node.memory=1GB", nonblocking(minibatch)}),
                      {})
        .explain()
        .groups.at(0)
        .held.total();
  };
  CHECK(bytes(32) == bytes(16));
  CHECK(bytes(8) < bytes(16));
}

TEST_CASE("mini-batches that do not divide the batch: a pass is whole batches, each cut alike") {
  // Parts of 140 hold two batches of 50, in mini-batches of 32 and 18.
  const Result result =
      run_timing(cluster(1), {"workload.data.samples=140", dropping("per_worker: 50"), nonblocking(32), "training.stop={epochs: 5}"});
  CHECK(result.record.samples == 5 * 100);
  CHECK(result.record.epochs == 5);
  REQUIRE(result.sink.order.size() == 10);
  for (std::size_t k = 0; k < 10; ++k) {
    CHECK(result.sink.order[k].steps == 2);
    CHECK(result.sink.order[k].samples == 50);
    CHECK(result.sink.order[k].time.seconds() == doctest::Approx(0.050 * static_cast<double>(k + 1)).epsilon(1e-4));
  }
  // Where they divide it, a pass is whole mini-batches: 96 of 100 samples, although a batch is 64.
  CHECK(run_timing(cluster(1), {"workload.data.samples=100", dropping("per_worker: 64"), nonblocking(32), "training.stop={updates: 30}"})
            .record.epochs == 20);
}

TEST_CASE("a pass draws the samples of an epoch, even if mini-batches are interrupted") {
  // Workers of four speeds with whole batches of 50 after each sync, so that what is left of a batch is anything.
  const Result result = run_timing(
      cluster(4), {std::string("cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 1.3}, ") +
                       "{count: 1, device: node, slowdown: 2.1}, {count: 1, device: node, slowdown: 3.7}]",
                   "workload.data.samples=560", dropping("per_worker: 50"), nonblocking(32, "reset"), "training.stop={epochs: 20}"});
  CHECK(result.record.epochs == static_cast<double>(result.record.samples) / 400);
  for (const OrderRow& row : result.sink.order) CHECK(row.position % 140 < 100);
}

TEST_CASE("a global batch that the workers do not divide: each drops the remainder of its own batch") {
  // 34, 33 and 33 of 100 samples each: passes of 68, 99 and 99. Six updates are three passes of the first and two of the others.
  const Result own = run_timing(cluster(3), {"workload.data.samples=300", dropping("global: 100"), "training.stop={updates: 6}"});
  CHECK(own.record.samples == 3 * 68 + 2 * 99 + 2 * 99);
  CHECK(own.record.epochs == doctest::Approx(600.0 / (68 + 99 + 99)).epsilon(1e-12));
  // A pool of 1,000 drops 10, what batches of 33 leave over; 34, 33 and 33 meet its end where they will.
  const Result pool = run_timing(cluster(3), {"workload.data={kind: coordinates, samples: 1000, partition: shared}",
                                              dropping("global: 100"), "training.stop={updates: 99}"});
  std::vector<std::uint64_t> positions;
  for (const OrderRow& row : pool.sink.order) {
    positions.push_back(row.position);
    CHECK(row.position % 1000 + row.samples <= 990);
  }
  CHECK(pool.record.epochs == doctest::Approx(static_cast<double>(pool.record.samples) / 990).epsilon(1e-12));
  CHECK(*std::max_element(positions.begin(), positions.end()) / 1000 == static_cast<std::uint64_t>(std::ceil(pool.record.epochs)) - 1);
}

TEST_CASE("as many updates as check says make an epoch, under every scheme that has a fixed number") {
  // 1,000 samples over four workers at batch 100: two batches of 100 and one of 50 a worker, or two with drop_last.
  struct Case {
    const char* scheme;
    double updates, updates_dropping;
  };
  const Case cases[] = {{"{kind: ssgd}", 3, 2},
                        {"{kind: ssgd, via: server}", 3, 2},
                        {"{kind: asgd}", 12, 8},
                        {"{kind: local_sgd, steps: 1}", 3, 2},
                        {"{kind: local_sgd, steps: 3}", 1, 2.0 / 3},
                        {"{kind: data_parallel}", 3, 2},
                        {"{kind: fedavg}", 1, 1},
                        {"{kind: fedavg, local_epochs: 2}", 0.5, 0.5},
                        {"{kind: fedavg, fraction: 0.1}", 4, 4}};  // one client of four, not four tenths of one
  for (const Case& each : cases) {
    for (const bool drop : {false, true}) {
      CAPTURE(each.scheme);
      CAPTURE(drop);
      const std::vector<std::string> sets = {"workload.data.samples=1000", "training.scheme=" + std::string(each.scheme),
                                             "training.batch={per_worker: 100, drop_last: " + std::string(drop ? "true" : "false") + "}",
                                             "training.stop={epochs: 6}"};
      const auto told = Experiment(read_scenario_text(cluster(4), "test.yaml", sets), {}).explain().updates_per_epoch;
      REQUIRE(told);
      CHECK(*told == doctest::Approx(drop ? each.updates_dropping : each.updates).epsilon(1e-12));
      const RunRecord record = run_timing(cluster(4), sets).record;
      CHECK(record.epochs == 6);
      CHECK(static_cast<double>(record.updates) == doctest::Approx(6 * *told).epsilon(1e-12));
    }
  }
}

TEST_CASE("clients of a pool: the last, smaller batch of their share belongs to no local epoch") {
  // A pool of 1,000 is 31 batches of 32 a pass; a share of 100 is three. Ten clients draw 960 in a round.
  const std::vector<std::string> sets = {"workload.data={kind: coordinates, samples: 1000, partition: shared}", dropping("per_worker: 32"),
                                         "training.scheme=fedavg", "training.stop={updates: 31}"};
  const RunRecord record = run_timing(cluster(10), sets).record;
  CHECK(record.samples == 31 * 960);
  CHECK(record.epochs == 30);
  const auto told = Experiment(read_scenario_text(cluster(10), "test.yaml", sets), {}).explain().updates_per_epoch;
  REQUIRE(told);
  CHECK(*told == doctest::Approx(31.0 / 30).epsilon(1e-12));
}
