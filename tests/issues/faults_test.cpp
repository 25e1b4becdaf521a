// Slips around workers that crash, leave and come back: each case is one, and says what should happen instead.
#include <doctest/doctest.h>

#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

Outcome outcome(int workers, const std::string& scheme, const std::string& faults, std::vector<std::string> sets = {}) {
  sets.insert(sets.begin(), {"training.scheme=" + scheme, "cluster.faults=[" + faults + "]"});
  const Result result = run_timing(cluster(workers), sets);
  if (result.record.outcome == Outcome::completed) CHECK(result.record.updates == 10);
  return result.record.outcome;
}

}  // namespace

TEST_CASE("one worker that comes back does not wait for a version that nobody else could publish") {
  const std::string fault = "{kind: crash, worker: 0, at: 250ms, restart_after: 100ms}";
  for (const std::string scheme : {"asgd", "{kind: ssgd, via: server}", "ssgd", "sequential"}) {
    CAPTURE(scheme);
    CHECK(outcome(1, scheme, fault) == Outcome::completed);
  }
}

TEST_CASE("all crash between an all-reduce and the step on its result: the version is made again") {
  // A step takes 464 ms; the all-reduce is over at once.
  const std::string faults =
      "{kind: crash, worker: 0, at: 300ms, restart_after: 50ms}, {kind: crash, worker: 1, at: 310ms, restart_after: 50ms}";
  CHECK(outcome(2, "ssgd", faults, {"devices.node.update=1kB/s"}) == Outcome::completed);
}

TEST_CASE("a worker that comes back while a stepwise all-reduce is ending does not wait for another version") {
  // Worker 2 hears the result last, over its slow link; the state arrives after the others have published.
  const std::vector<std::string> sets = {"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, link: {latency: 300ms}}]",
                                         "cluster.network.collective={algorithm: binomial_tree, fidelity: stepwise}"};
  for (int at = 100; at < 1500; at += 50) {
    CAPTURE(at);
    CHECK(outcome(4, "ssgd", "{kind: join, worker: 1, at: " + std::to_string(at) + "ms}", sets) == Outcome::completed);
  }
}

TEST_CASE("a crash, or a newcomer, between two buckets of an update") {
  std::vector<std::string> sets = {"workload.model={kind: mlp, hidden: [8, 8, 8, 8]}",
                                   "cluster.network.collective={bucket: 1B, overlap: true}"};
  for (const std::string on_failure : {"wait", "drop"}) {
    for (const std::string fault :
         {"{kind: crash, worker: 1, at: 70ms, restart_after: 1ms}", "{kind: crash, worker: 0, at: 70ms, restart_after: 500ms}",
          "{kind: join, worker: 1, at: 70ms}", "{kind: leave, worker: 1, at: 70ms}"}) {
      CAPTURE(on_failure);
      CAPTURE(fault);
      CHECK(outcome(3, "{kind: ssgd, on_failure: " + on_failure + "}", fault, sets) == Outcome::completed);
    }
  }
}

TEST_CASE("a worker that leaves while it is down is not expected back") {
  const std::string faults = "{kind: crash, worker: 0, at: 150ms, restart_after: 500ms}, {kind: leave, worker: 0, at: 250ms}";
  for (const std::string scheme : {"asgd", "ssgd", "sequential"}) {
    CAPTURE(scheme);
    CHECK(outcome(1, scheme, faults) == Outcome::all_workers_down);
  }
}

TEST_CASE("a worker that comes back gets the momentum of its version, even if some worker has not taken that step yet") {
  // Worker 0 takes 200 ms for its step, the others nothing: they publish, and at that moment worker 0 has the momentum of the version
  // before.
  const std::vector<std::string> sets = {"devices.slow={compute: {affine: {per_sample: 1ms}}, update: 2320B/s}",
                                         "cluster.workers=[{count: 1, device: slow}, {count: 2, device: node}]",
                                         "training.optimizer.momentum=0.9", "training.stop.updates=6"};
  // All end with the same weights, or the run stops with an error.
  for (int at = 110; at < 600; at += 35) {
    std::vector<std::string> with = sets;
    with.push_back("cluster.faults=[{kind: crash, worker: 2, at: " + std::to_string(at) + "ms, restart_after: 40ms}]");
    CAPTURE(at);
    CHECK(run_timing(cluster(3), with).record.updates == 6);
  }
}

TEST_CASE("a crash does not cause the warning about wasted computation") {
  const Result result =
      run_timing(cluster(2), {"cluster.faults=[{kind: crash, worker: 1, at: 50ms}]", "training.scheme={kind: ssgd, on_failure: drop}"});
  CHECK(result.record.warnings.empty());
}

TEST_CASE("a new life of a worker gets no answer to what its former one had sent") {
  // The server takes 80 ms for a step. Worker 1 crashes while its gradient is stepped on, is in the queue, or on its way (its link has
  // 30 ms), and is back soon. From then on every gradient of it must be taken at weights that hold its own one before.
  for (const std::string latency : {"0s", "30ms"}) {
    for (int at = 101; at < 420; at += 13) {
      CAPTURE(latency);
      CAPTURE(at);
      const std::vector<std::string> sets = {
          "training.scheme={kind: asgd}", "training.stop={updates: 30}", "cluster.servers={count: 1, update: 5800B/s}",
          "cluster.workers=[{count: 1, device: node}, {count: 1, device: node, link: {latency: " + latency + "}}]",
          "cluster.faults=[{kind: crash, worker: 1, at: " + std::to_string(at) + "ms, restart_after: 1ms}]"};
      const Result result = run_timing(cluster(2), sets);
      std::uint64_t last = 0, breaches = 0;
      for (const OrderRow& row : result.sink.order) {
        if (row.worker != 1) continue;
        breaches += row.read_version < last;
        last = row.update;
      }
      CHECK(breaches <= 1);  // the new life starts from the latest version, which may not hold the last of the former life
      CHECK(result.record.bytes_sent == result.record.bytes_received + result.record.bytes_lost);
    }
  }
}
