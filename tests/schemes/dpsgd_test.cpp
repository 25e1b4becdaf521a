// D-PSGD against its laws: what holds of the mean of all workers' weights, and how long a step takes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/schemes/mixing_graph.hpp"
#include "tests/schemes/bowl.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const char* const graph_names[] = {"ring", "exponential", "full", "torus"};

MixingGraph graph_named(const std::string& name) { return MixingGraph(MixingGraph::choice.find(name).value()); }

constexpr double start = bowl_start, rate = step_rate;

double farthest_weight(const std::vector<float>& one, const std::vector<float>& other) {
  REQUIRE(one.size() == other.size());
  double most = 0;
  for (std::size_t i = 0; i < one.size(); ++i) most = std::max(most, std::abs(static_cast<double>(one[i]) - static_cast<double>(other[i])));
  return most;
}

/// Of T steps in 32 bits on numbers up to 2 · start, where a step takes a sum of `terms` numbers: each operation is off by at most half a
/// unit in the last place, 2^-24 of its result. A step takes `terms` products and sums, the gradient's rounding (at most as large as the
/// weights), its product with the rate, and the difference: terms + 4 roundings at most. What was off before shrinks (by 1 - lr). A mean of
/// p weights takes p + 1 more. The same again for the other run.
double tolerance(int steps, int terms, int workers) { return 2 * (steps * (terms + 4) + workers + 1) * 2 * start * std::ldexp(1.0, -24); }

std::string scheme_on(const std::string& graph, const std::string& more = "") { return "{kind: dpsgd, graph: " + graph + more + "}"; }

/// Weights of version `updates` of a run with these faults.
std::vector<float> weights_at(int workers, int updates, const std::vector<std::string>& sets, const std::string& graph = "ring") {
  const Result result = run(bowl_scenario(workers, scheme_on(graph), updates), sets);
  REQUIRE(result.record.updates == static_cast<std::uint64_t>(updates));
  return result.weights;
}

std::string only_crash(int worker, const std::string& rest) {
  return "cluster.faults=[{kind: crash, worker: " + std::to_string(worker) + ", " + rest + "}]";
}

/// By version: who contributed, and when.
struct VersionRow {
  Time time;
  std::set<std::uint32_t> workers;
};
std::map<std::uint64_t, VersionRow> versions_of(const Result& result) {
  std::map<std::uint64_t, VersionRow> versions;
  for (const OrderRow& row : result.sink.order) {
    versions[row.update].time = row.time;
    versions[row.update].workers.insert(row.worker);
  }
  return versions;
}

}  // namespace

TEST_CASE("D-PSGD: where gradients are linear the mean of all weights follows synchronous SGD, on every graph") {
  const int steps = 25;
  for (const int workers : {1, 2, 3, 4, 6, 9, 16})
    for (const std::string momentum : {"0", "0.5"}) {
      const std::vector<std::string> sets = {"training.optimizer.momentum=" + momentum, "devices.node.jitter={kind: exponential}"};
      const Result synchronous = run(bowl_scenario(workers, "ssgd", steps), sets);
      for (const char* graph : graph_names) {
        CAPTURE(workers);
        CAPTURE(graph);
        const Result decentralized = run(bowl_scenario(workers, scheme_on(graph), steps), sets);
        const auto terms = static_cast<int>(graph_named(graph).row(0, workers).size());
        // Momentum keeps what was off: errors add up in it by 1 / (1 - 0.5).
        const double bound = tolerance(steps, terms + (momentum == "0" ? 0 : 2), workers) * (momentum == "0" ? 1 : 2);
        CHECK(farthest_weight(decentralized.weights, synchronous.weights) <= bound);
      }
    }
}

TEST_CASE("D-PSGD: the mean does not follow synchronous SGD where gradients are not linear") {
  const std::vector<std::string> sets = {"workload.model={kind: mlp, hidden: [16]}", "workload.data={kind: coordinates, samples: 800}",
                                         "training.batch.per_worker=20"};
  const Result ring = run(bowl_scenario(8, scheme_on("ring"), 40), sets), full = run(bowl_scenario(8, scheme_on("full"), 40), sets),
               synchronous = run(bowl_scenario(8, "ssgd", 40), sets);
  CHECK(farthest_weight(ring.weights, synchronous.weights) > 1e-3);
  CHECK(farthest_weight(ring.weights, full.weights) > 1e-3);
}

TEST_CASE("D-PSGD: one worker is plain SGD, bit for bit") {
  for (const char* graph : graph_names)
    CHECK(run(bowl_scenario(1, scheme_on(graph), 9)).weights == run(bowl_scenario(1, "sequential", 9)).weights);
}

TEST_CASE("D-PSGD: a step takes the longer of the gradient and of the exchange with all neighbours") {
  // All post at the same moment: d messages share a worker's link up and another d its link down; then two latencies pass.
  const double batch = 0.1, latency = 50e-6;
  const std::uint64_t bytes = 1'000'000;
  const int updates = 7;
  for (const int workers : {1, 2, 3, 8, 16})
    for (const char* graph : graph_names)
      for (const double bandwidth : {5e6, 500e6}) {
        CAPTURE(workers);
        CAPTURE(graph);
        CAPTURE(bandwidth);
        const Result result = run_timing(
            cluster(workers),
            {"training.scheme=" + scheme_on(graph), "training.stop.updates=" + std::to_string(updates),
             "workload.cost={bytes: " + std::to_string(bytes) + "B}",
             "cluster.network.link={bandwidth: " + std::to_string(static_cast<std::int64_t>(bandwidth)) + "B/s, latency: 50us}"});
        const auto degree = static_cast<double>(graph_named(graph).neighbours(0, workers).size());
        const double exchange = degree > 0 ? degree * static_cast<double>(bytes) / bandwidth + 2 * latency : 0;
        CHECK(result.record.end.seconds() == doctest::Approx(updates * std::max(batch, exchange)).epsilon(1e-9));
        // What is posted for the step after the last has not arrived.
        const auto sent = static_cast<std::uint64_t>(degree) * static_cast<std::uint64_t>(workers) * bytes;
        CHECK(result.record.bytes_received == updates * sent);
      }
}

TEST_CASE("D-PSGD: every version has the weights of all workers, each from the version before, however far a ring drifts apart") {
  const Result result = run_timing(bowl_scenario(8, scheme_on("ring"), 30), {"devices.node.jitter={kind: exponential}"});
  CHECK(result.record.staleness == StalenessHistogram{{0, 8 * 30}});
  for (const auto& [version, row] : versions_of(result)) CHECK(row.workers.size() == 8);
}

TEST_CASE("D-PSGD: two workers mix, and the remaining one continues from the mixture") {
  // Over whole parts with optima c0 and c1, the mean m and the difference d of the two move by m ← m - lr (m - (c0 + c1) / 2) and
  // d ← lr (c0 - c1 - d): averaging leaves nothing of the difference. After the crash in step k + 1 worker 0 is alone: x ← x - lr (x - c0).
  const int k = 3;
  const std::vector<float> c0 = weights_at(2, 120, {only_crash(1, "at: 0s")}), both = weights_at(2, 120, {});
  for (const int after : {1, 2, 5}) {
    const std::vector<float> found = weights_at(2, k + after, {only_crash(1, "at: 3.5s")});
    for (std::size_t i = 0; i < found.size(); ++i) {
      double mean = start, difference = 0;
      const double apart = 2 * (static_cast<double>(c0[i]) - static_cast<double>(both[i]));
      for (int step = 0; step < k; ++step) {
        mean -= rate * (mean - static_cast<double>(both[i]));
        difference = rate * (apart - difference);
      }
      double expected = mean + difference / 2;
      for (int step = 0; step < after; ++step) expected -= rate * (expected - static_cast<double>(c0[i]));
      // c0 and the mean of both are read off runs that stand still: 0.75^120 of where they began, and roundings of 120 steps.
      CHECK(std::abs(static_cast<double>(found[i]) - expected) < 3 * tolerance(120, 2, 2));
      CHECK(std::abs(difference) > 0.01);  // so that it matters
    }
  }
}

TEST_CASE("D-PSGD: averaging keeps the mean of those that are in, after a crash and after a restart") {
  // Between two versions of the same members m ← m - lr (m - c), c the mean of their optima: W has neither lost nor added anything.
  const std::string jitter = "devices.node.jitter={kind: gamma, shape: 3}";
  for (const char* graph : graph_names) {
    CAPTURE(graph);
    for (const bool restarts : {false, true}) {
      const std::vector<std::string> sets = {jitter, only_crash(2, restarts ? "at: 7s, restart_after: 4s" : "at: 7s")};
      const Result timing = run_timing(bowl_scenario(6, scheme_on(graph), 40), sets);
      const auto versions = versions_of(timing);
      std::uint64_t last = 0;  // the last version of which somebody is missing, or the first if nobody comes back
      for (const auto& [version, row] : versions)
        if (row.workers.size() == (restarts ? 5 : 6)) last = version;
      REQUIRE(last > 3);
      REQUIRE(last < 30);
      const int from = static_cast<int>(last) + 3;  // some worker may have mixed once more with the one that went
      const std::vector<float> c = weights_at(6, 150, sets, graph);
      std::vector<float> before = weights_at(6, from, sets, graph);
      for (int version = from + 1; version < from + 5; ++version) {
        const std::vector<float> after = weights_at(6, version, sets, graph);
        for (std::size_t i = 0; i < after.size(); ++i) {
          const double expected = (1 - rate) * static_cast<double>(before[i]) + rate * static_cast<double>(c[i]);
          CHECK(std::abs(static_cast<double>(after[i]) - expected) < tolerance(150, 6, 6));
        }
        before = after;
      }
    }
  }
}

TEST_CASE("D-PSGD: a worker that restarts takes part from the first step that no worker has begun") {
  // A step takes 1 s. Worker 1 is down from 2.5 s to 3.5 s; then all others have three updates, and begin their fourth step: it posts under
  // number 4, computes until 4.5 s, and waits for nobody, since the others have posted theirs at 4 s. Version 5 is the first with it.
  const Result result =
      run_timing(bowl_scenario(4, scheme_on("ring"), 7), {only_crash(1, "at: 2.5s, restart_after: 1s"), "training.stop.updates=7"});
  const auto versions = versions_of(result);
  const std::set<std::uint32_t> all = {0, 1, 2, 3}, without = {0, 2, 3};
  REQUIRE(versions.size() == 7);
  for (const auto& [version, row] : versions) {
    const auto& this_version = version;  // clang 14 captures no structured binding
    CAPTURE(this_version);
    CHECK(row.workers == (version == 3 || version == 4 ? without : all));
    CHECK(std::abs(row.time.seconds() - static_cast<double>(version)) < 1e-6);
  }
}

TEST_CASE("D-PSGD with on_failure wait: neighbours wait until the worker is back, and continue without its step") {
  // Worker 1 posted its weights of version 2 at 2 s, and crashed at 2.5 s before anybody had looked at them. Worker 0 waits at 3 s. At 4.5
  // s worker 1 is back, under number 3 (with two workers nobody has begun a later step); worker 0 ends its third step without it.
  const Result result =
      run_timing(bowl_scenario(2, scheme_on("ring", ", on_failure: wait"), 6), {only_crash(1, "at: 2.5s, restart_after: 2s")});
  const auto versions = versions_of(result);
  REQUIRE(versions.size() == 6);
  const double times[] = {1, 2, 4.5, 5.5, 6.5, 7.5};
  for (const auto& [version, row] : versions) {
    const auto& this_version = version;  // clang 14 captures no structured binding
    CAPTURE(this_version);
    CHECK(row.workers.size() == (version == 3 ? 1 : 2));
    CHECK(std::abs(row.time.seconds() - times[version - 1]) < 1e-6);
  }
}

TEST_CASE("D-PSGD with on_failure abort ends at the crash; with wait and no return it stalls") {
  CHECK(run_timing(bowl_scenario(3, scheme_on("ring", ", on_failure: abort"), 9), {only_crash(1, "at: 2.5s")}).record.outcome ==
        Outcome::aborted);
  const Result stalled = run_timing(bowl_scenario(3, scheme_on("ring", ", on_failure: wait"), 9), {only_crash(1, "at: 2.5s")});
  CHECK(stalled.record.outcome == Outcome::stalled);
  CHECK(stalled.record.updates == 2);
}
