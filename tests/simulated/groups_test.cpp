// Collectives over groups of workers, beside a server and among others: times, weights, books, faults; all-gathers.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/simulated/books.hpp"
#include "tests/support/group_schemes.hpp"

namespace groups_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double batch_seconds = 0.1;                        // 100 samples of 1 ms
constexpr double bandwidth = 125e6, route_latency = 100e-6;  // 1 Gbit/s; two links of 50 us
constexpr double model = 1'200'000;                          // in equal chunks for rings of up to six

std::vector<std::string> on_links(const std::string& fidelity) {
  return {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}", "cluster.servers={count: 1, link: {bandwidth: 1Gbps, latency: 50us}}",
          "workload.cost={bytes: 1200000B}", "cluster.network.collective={algorithm: ring, fidelity: " + fidelity + "}"};
}

const char* const fidelities[] = {"fluid", "stepwise"};

}  // namespace

TEST_CASE("groups average, and their leaders exchange with a server: the time of an update") {
  // A batch; each group's ring, 2(g - 1)(α + n/g β), at the same time on links of its own; the leaders' models share the server's link,
  // k n β + α for k groups; so do its answers; each group's all-gather, (g - 1)(α + n β).
  for (const std::string fidelity : fidelities) {
    for (const int size : {2, 3}) {
      const int groups = 2, updates = 4;
      CAPTURE(fidelity);
      CAPTURE(size);
      std::vector<std::string> sets = on_links(fidelity);
      sets.insert(sets.end(), {"training.scheme={kind: two_levels, size: " + std::to_string(size) + "}", "training.stop={updates: 4}"});
      const Result result = run_timing(cluster(groups * size), sets);
      const double wire = model / bandwidth;
      const double reduce = 2 * (size - 1) * (route_latency + wire / size), through_server = groups * wire + route_latency;
      const double gather = (size - 1) * (route_latency + wire);
      const double to_server = batch_seconds + reduce + through_server;
      CHECK(std::abs(result.record.end.seconds() - (updates * to_server + (updates - 1) * (through_server + gather))) < 1e-9);
      CHECK(result.record.samples == static_cast<std::uint64_t>(updates * groups * size * 100));
      check_books(result, true);
      // Of an update: reduction, leaders up, answers, all-gather. The last has the first two; its answers are posted, and lost.
      const auto n = static_cast<std::uint64_t>(model), g = static_cast<std::uint64_t>(size);
      const std::uint64_t up = 2 * (2 * (g - 1) * n) + 2 * n, down = 2 * n + 2 * (g * (g - 1) * n);
      CHECK(result.record.bytes_received == 4 * up + 3 * down);
    }
  }
}

TEST_CASE("groups of equal size beside a server: the mean of means is the mean over all workers") {
  // Sums differ in order alone. A weight is of order 1; a few roundings of 2^-24 in each of ten steps.
  const Result groups = run(cluster(4), {"training.scheme=two_levels"});
  const Result flat = run(cluster(4), {"training.scheme={kind: local_sgd, steps: 1, via: server}"});
  REQUIRE(groups.weights.size() == flat.weights.size());
  double most = 0;
  for (std::size_t i = 0; i < flat.weights.size(); ++i)
    most = std::max(most, static_cast<double>(std::abs(groups.weights[i] - flat.weights[i])));
  CHECK(most < 1e-5);
  const Result initial = run(cluster(4), {"training.scheme=two_levels", "training.stop.updates=1"});
  double moved = 0;
  for (std::size_t i = 0; i < flat.weights.size(); ++i)
    moved = std::max(moved, static_cast<double>(std::abs(groups.weights[i] - initial.weights[i])));
  CHECK(moved > 1e-3);
}

TEST_CASE("one group of all workers beside a server is an all-reduce over all") {
  std::vector<std::string> sets = on_links("fluid");
  sets.insert(sets.end(), {"training.scheme={kind: two_levels, size: 4}", "training.stop={updates: 1}"});
  const Result result = run_timing(cluster(4), sets);
  const double expected = batch_seconds + 6 * (route_latency + model / bandwidth / 4) + model / bandwidth + route_latency;
  CHECK(std::abs(result.record.end.seconds() - expected) < 1e-9);
}

TEST_CASE("a group continues without a worker that left, and includes it in the next collective after its return") {
  // No bytes. Worker 1 is down from 250 ms, in its third step, to 320 ms: group {0, 1} is worker 0 alone in update 3, at 300 ms. Worker 1
  // steps from 320 ms to 420 ms, worker 0 joins at 400 ms and does not wait for it: update 4 is without it too. It takes part in the
  // all-reduce that begins at 500 ms, with weights of version 3, and is waited for from then on: all updates follow each 100 ms.
  const Result result = run_timing(cluster(4), {"training.scheme=two_levels", "training.stop={updates: 8}",
                                                "cluster.faults=[{kind: crash, worker: 1, at: 250ms, restart_after: 70ms}]"});
  std::vector<std::uint64_t> updates_of_worker_1;
  for (const OrderRow& row : result.sink.order)
    if (row.worker == 1) updates_of_worker_1.push_back(row.update);
  CHECK(updates_of_worker_1 == std::vector<std::uint64_t>{1, 2, 5, 6, 7, 8});
  CHECK(std::abs(result.record.end.seconds() - 0.8) < 1e-4);
  check_books(result, false);
}

TEST_CASE("groups beside a server: after a crash of any worker at any time the run continues and the books balance") {
  const int updates = 10;
  for (const std::string fidelity : fidelities) {
    for (const int size : {1, 2, 3, 4}) {
      for (int at = 20; at < 420; at += 9) {
        CAPTURE(fidelity);
        CAPTURE(size);
        CAPTURE(at);
        std::vector<std::string> sets = on_links(fidelity);
        sets.insert(sets.end(), {"training.scheme={kind: two_levels, size: " + std::to_string(size) + "}", "training.stop={updates: 10}",
                                 "cluster.faults=[{kind: crash, worker: 0, at: " + std::to_string(at) +
                                     "ms, restart_after: 35ms}, {kind: crash, worker: 3, at: " + std::to_string(at + 60) +
                                     "ms, restart_after: 110ms}, {kind: leave, worker: 1, at: " + std::to_string(at + 200) + "ms}]"});
        const Result result = run_timing(cluster(4), sets);
        CHECK(result.record.outcome == Outcome::completed);
        CHECK(result.record.updates == updates);
        check_books(result, false);
        check_same(run_timing(cluster(4), sets), result);
      }
    }
  }
}

TEST_CASE("an all-gather over all workers: its time, its bytes, and each worker's result") {
  const int p = 3, updates = 4;
  for (const std::string when : {"awaited", "in_flight"}) {
    for (const std::string fidelity : fidelities) {
      CAPTURE(when);
      CAPTURE(fidelity);
      std::vector<std::string> sets = on_links(fidelity);
      sets.insert(sets.end(), {"training.scheme={kind: gathered, when: " + when + "}", "training.stop={updates: 4}"});
      const Result result = run_timing(cluster(p), sets);
      const double gather = (p - 1) * (route_latency + model / bandwidth);
      CHECK(std::abs(result.record.end.seconds() - updates * (batch_seconds + gather)) < 1e-9);
      CHECK(result.record.bytes_sent == static_cast<std::uint64_t>(updates * p * (p - 1) * model));
      CHECK(result.record.samples == updates * p * 100);
      check_books(result, true);
      const Result mean = run(cluster(p), {"training.scheme={kind: local_sgd, steps: 1}"});
      CHECK(run(cluster(p), {"training.scheme={kind: gathered, when: " + when + "}"}).weights == mean.weights);
    }
  }
}

TEST_CASE("groups gather, then all do: groups move at the same time, and the time is the sum of both") {
  const int p = 4, size = 2, updates = 3;
  for (const std::string fidelity : fidelities) {
    CAPTURE(fidelity);
    std::vector<std::string> sets = on_links(fidelity);
    sets.insert(sets.end(), {"training.scheme={kind: gathered, size: 2}", "training.stop={updates: 3}"});
    const Result result = run_timing(cluster(p), sets);
    const double step = route_latency + model / bandwidth;
    CHECK(std::abs(result.record.end.seconds() - updates * (batch_seconds + (size - 1) * step + (p - 1) * step)) < 1e-9);
    CHECK(result.record.bytes_sent == static_cast<std::uint64_t>(updates * (p * (size - 1) + p * (p - 1)) * model));
    check_books(result, true);
  }
}

TEST_CASE("collectives over groups that start as workers come are refused in one line") {
  std::vector<std::string> lines;
  try {
    run_timing(cluster(2),
               {"training.scheme=gathered", "cluster.network.collective={algorithm: ring, fidelity: stepwise, start: as_they_come}"});
  } catch (const ScenarioErrors& errors) {
    lines = errors.lines();
  }
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().ends_with("these cannot use start: as_they_come; set cluster.network.collective.start: together"));
}

TEST_CASE("groups, then all: several workers crash, leave and join, and no worker waits for ever") {
  for (const std::string fidelity : fidelities) {
    for (const std::string policy : {"wait", "drop"}) {
      for (int at = 10; at < 420; at += 13) {
        const auto ms = [at](int later) { return std::to_string(at + later) + "ms"; };
        const std::string three = "{kind: crash, worker: 0, at: " + ms(0) +
                                  ", restart_after: 20ms}, {kind: crash, worker: 1, at: " + ms(0) +
                                  ", restart_after: 20ms}, {kind: crash, worker: 2, at: " + ms(0) + ", restart_after: 40ms}";
        const std::string all_kinds = "{kind: leave, worker: 2, at: " + ms(0) + "}, {kind: crash, worker: 3, at: " + ms(0) +
                                      ", restart_after: 25ms}, {kind: join, worker: 1, at: " + ms(10) + "}";
        for (const std::string& faults : {three, all_kinds}) {
          CAPTURE(fidelity);
          CAPTURE(policy);
          CAPTURE(faults);
          std::vector<std::string> sets = on_links(fidelity);
          sets.insert(sets.end(), {"training.scheme={kind: gathered, size: 2, on_failure: " + policy + "}", "training.stop={updates: 8}",
                                   "cluster.faults=[" + faults + "]"});
          const Result result = run_timing(cluster(4), sets);
          CHECK(result.record.outcome == Outcome::completed);
          INFO((result.record.warnings.empty() ? std::string() : result.record.warnings.back()));
          CHECK(result.record.updates == 8);
          check_books(result, true);
        }
      }
    }
  }
}

}  // namespace groups_test
