// AD-PSGD against its laws: what an average does to the mean of all weights, how often workers update, and who waits for whom.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/schemes/bipartite_graph.hpp"
#include "tests/schemes/bowl.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const char* const bipartite_names[] = {"ring", "exponential", "full", "torus"};

std::string gossip_on(const std::string& graph, int workers, int updates, const std::string& more = "") {
  return bowl_scenario(workers, "{kind: adpsgd, graph: " + graph + more + "}", updates);
}

std::string crash_of(int worker, const std::string& rest) {
  return "cluster.faults=[{kind: crash, worker: " + std::to_string(worker) + ", " + rest + "}]";
}

std::string with_slowdown(const std::string& factor) {
  return "cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: " + factor + "}]";
}

}  // namespace

TEST_CASE("bipartite graphs: edges go both ways between the halves, and connect all workers") {
  for (const char* name : bipartite_names) {
    const BipartiteGraph graph(MixingGraph::choice.find(name).value());
    for (const Rank workers : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 64}) {
      CAPTURE(name);
      CAPTURE(workers);
      const bool even = workers == 1 || workers % 2 == 0;
      // On a torus of 2 x 3 or 3 x 4 three workers are a ring; 1 x 2, 2 x 2, 2 x 4, 4 x 4 and 8 x 8 are fine.
      const bool fits = std::string(name) == "full" || (even && !(std::string(name) == "torus" && (workers == 6 || workers == 12)));
      CHECK(graph.unfit(workers).empty() == fits);
      if (!fits) continue;
      std::set<Rank> reached = {0};
      for (bool more = true; more;) {
        more = false;
        for (const Rank worker : std::set<Rank>(reached))
          for (const Rank other : graph.neighbours(worker, workers)) more = reached.insert(other).second || more;
      }
      CHECK(reached.size() == static_cast<std::size_t>(workers));
      for (Rank worker = 0; worker < workers; ++worker)
        for (const Rank other : graph.neighbours(worker, workers)) {
          CHECK(graph.is_active(worker, workers) != graph.is_active(other, workers));
          const std::vector<Rank> back = graph.neighbours(other, workers);
          CHECK(std::count(back.begin(), back.end(), worker) == 1);
        }
    }
  }
  CHECK(BipartiteGraph(MixingGraph::Kind::exponential).neighbours(0, 16) == std::vector<Rank>{1, 3, 5, 7, 9, 11, 13, 15});
  CHECK(BipartiteGraph(MixingGraph::Kind::exponential).neighbours(0, 64) == std::vector<Rank>{1, 3, 5, 9, 17, 31, 33, 47, 55, 59, 61, 63});
  CHECK_THROWS_WITH(run(gossip_on("ring", 5, 9)), doctest::Contains("a ring of 5 workers"));
}

TEST_CASE("AD-PSGD: every average keeps the mean of all weights, whenever it is looked at") {
  // From its fifth update on a worker's steps are 1e-30 of what they were: only averages change weights, and the mean of all stands still,
  // while a worker's own weights do not. A mean of p weights takes p + 1 roundings, an average 3 of each of two weights.
  const int workers = 6, last = 90;
  for (const char* graph : {"ring", "full", "exponential"})
    for (const std::string latency : {"0s", "300ms"}) {
      CAPTURE(graph);
      CAPTURE(latency);
      const std::vector<std::string> sets = {"devices.node.jitter={kind: gamma, shape: 3}",
                                             "training.schedule={kind: step, at: [4], factor: 1e-30}",
                                             "cluster.network.link={bandwidth: 1000GB/s, latency: " + latency + "}"};
      const Result timing = run_timing(gossip_on(graph, workers, last), sets);
      std::map<Rank, int> updates;
      std::uint64_t settled = 0;  // the first version to which everybody has contributed five updates
      for (const OrderRow& row : timing.sink.order)
        if (++updates[row.worker] == 5) settled = row.update;
      REQUIRE(updates.size() == static_cast<std::size_t>(workers));
      REQUIRE(settled < last - 20);
      const std::vector<float> reference = run(gossip_on(graph, workers, static_cast<int>(settled)), sets).weights;
      for (int version = static_cast<int>(settled) + 1; version <= last; version += 3) {
        CAPTURE(version);
        const std::vector<float> mean = run(gossip_on(graph, workers, version), sets).weights;
        for (std::size_t i = 0; i < mean.size(); ++i)
          CHECK(std::abs(static_cast<double>(mean[i]) - static_cast<double>(reference[i])) <=
                rounding_of(2 * (workers + 1) + 6 * (version - static_cast<int>(settled))));
      }
    }
}

TEST_CASE("AD-PSGD: two workers, against the rule followed by hand") {
  // Worker 0 asks, worker 1 answers. Messages take no time. A gradient is taken at the weights with which it began.
  const int updates = 24;
  const double slowness = 1.7;
  const std::vector<float> c0 = run(gossip_on("ring", 2, 120), {crash_of(1, "at: 0s")}).weights,
                           c1 = run(gossip_on("ring", 2, 120), {crash_of(0, "at: 0s")}).weights;
  struct Worker {
    double x = bowl_start, began_at = bowl_start, count = 1;
  };
  for (int last = 1; last <= updates; ++last) {
    CAPTURE(last);
    const std::vector<float> found = run(gossip_on("ring", 2, last), {with_slowdown("1.7")}).weights;
    REQUIRE(found.size() == c0.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double optimum[] = {static_cast<double>(c0[i]), static_cast<double>(c1[i])};
      Worker workers[2];
      double mean = bowl_start;
      for (int update = 1; update <= last; ++update) {
        const int who = workers[0].count < workers[1].count * slowness ? 0 : 1;
        Worker& maker = workers[who];
        const double gradient = maker.began_at - optimum[who];
        if (who == 0) workers[0].x = workers[1].x = (workers[0].x + workers[1].x) / 2;
        maker.x -= step_rate * gradient;
        maker.began_at = maker.x;
        ++maker.count;
        mean = (workers[0].x + workers[1].x) / 2;
      }
      // Nine roundings a step (dpsgd_test.cpp), on both sides' optima those of 120 steps that stand still.
      CHECK(std::abs(static_cast<double>(found[i]) - mean) < rounding_of(9 * (updates + 120)));
    }
  }
}

TEST_CASE("AD-PSGD: on a network that takes no time, updates come at the sum of all workers' rates") {
  // Worker i makes one update each X_i, whatever the others do: 1 s, and 3.3 s for the slow one.
  const Result even = run_timing(
      gossip_on("ring", 4, 1000),
      {"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 3.3}]", "training.stop={simulated_time: 100.5s}"});
  CHECK(even.record.updates == 3 * 100 + 30);
  // Exponential times: a Poisson process of that rate. Four standard deviations.
  for (const char* graph : bipartite_names) {
    const Result drawn =
        run_timing(gossip_on(graph, 8, 1000), {"devices.node.jitter={kind: exponential}", "training.stop={simulated_time: 500s}",
                                               "cluster.workers=[{count: 6, device: node}, {count: 2, device: node, slowdown: 4}]"});
    const double expected = 500 * (6 + 2 / 4.0);
    CHECK(std::abs(static_cast<double>(drawn.record.updates) - expected) < 4 * std::sqrt(expected));
  }
}

TEST_CASE("AD-PSGD: the asking worker waits for two messages, the answering one for none") {
  // A latency of 50 ms a link, two links a way: 1 s + 4 · 50 ms an update of worker 0, 1 s of worker 1.
  const Result result = run_timing(gossip_on("ring", 2, 1000),
                                   {"cluster.network.link={bandwidth: 1000GB/s, latency: 50ms}", "training.stop={simulated_time: 24.1s}"});
  CHECK(result.record.workers[0].updates == 20);
  CHECK(result.record.workers[1].updates == 24);
}

TEST_CASE("AD-PSGD: no deadlock, however slow the network, for all pairs of workers") {
  for (const char* graph : bipartite_names)
    for (int seed = 1; seed <= 12; ++seed) {
      const Result result =
          run_timing(gossip_on(graph, 8, 200), {"seed=" + std::to_string(seed), "devices.node.jitter={kind: exponential}",
                                                "workload.cost={bytes: 1MB}", "cluster.network.link={bandwidth: 500kB/s, latency: 1s}"});
      CHECK(result.record.outcome == Outcome::completed);
      for (const WorkerRecord& worker : result.record.workers) CHECK(worker.updates > 0);
    }
}

TEST_CASE("AD-PSGD: one worker is plain SGD, bit for bit") {
  for (const char* graph : bipartite_names)
    CHECK(run(gossip_on(graph, 1, 9)).weights == run(gossip_on(graph, 1, 9), {"training.scheme=sequential"}).weights);
}

TEST_CASE("AD-PSGD: an update is one gradient; its staleness is the number of versions published meanwhile") {
  const Result result = run_timing(gossip_on("full", 6, 300), {"devices.node.jitter={kind: exponential}"});
  std::map<Rank, std::uint64_t> latest;
  for (const OrderRow& row : result.sink.order) {
    CHECK(row.steps == 1);
    CHECK(row.samples == 5);
    CHECK(row.read_version == latest[row.worker]);
    latest[row.worker] = row.update;
  }
  CHECK(result.record.updates == 300);
}

TEST_CASE("AD-PSGD: a worker that waits for an answer continues alone when its partner crashes, and with it when it is back") {
  // A request takes 400 ms. Worker 0 asks at 1 s; worker 1 crashes at 1.1 s, and worker 0 steps alone at that moment. It is alone, and
  // updates each second, until worker 1 is back: at 4.6 s, after its state has come.
  const std::vector<std::string> sets = {"cluster.network.link={bandwidth: 1000GB/s, latency: 200ms}",
                                         crash_of(1, "at: 1.1s, restart_after: 3.1s")};
  const Result result = run_timing(gossip_on("ring", 2, 12), sets);
  std::vector<double> times;
  for (const OrderRow& row : result.sink.order)
    if (row.worker == 0) times.push_back(row.time.seconds());
  REQUIRE(times.size() >= 6);
  // At 5.1 s it asks again, and has the answer 800 ms later.
  const double expected[] = {1.1, 2.1, 3.1, 4.1, 5.9, 7.7};
  for (std::size_t i = 0; i < 6; ++i) CHECK(times[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  std::vector<double> others;
  for (const OrderRow& row : result.sink.order)
    if (row.worker == 1) others.push_back(row.time.seconds());
  REQUIRE(others.size() >= 3);
  CHECK(others[0] == doctest::Approx(1).epsilon(1e-6));
  CHECK(others[1] == doctest::Approx(5.6).epsilon(1e-6));
  CHECK(result.record.outcome == Outcome::completed);
  CHECK(run_timing(gossip_on("ring", 2, 12, ", on_failure: abort"), sets).record.outcome == Outcome::aborted);
}

TEST_CASE("AD-PSGD: a replay on another cluster has the same versions, bit for bit") {
  const std::vector<std::string> sets = {"devices.node.jitter={kind: exponential}", "training.evaluate.every={updates: 7}"};
  const std::string yaml = gossip_on("full", 6, 100);
  const Result result = run(yaml, sets);
  const TemporaryFolder folder;
  write_choices(folder, yaml, sets, result);
  for (const std::string network : {"{bandwidth: 1GB/s, latency: 0s}", "{bandwidth: 1MB/s, latency: 700ms}"}) {
    std::vector<std::string> other = sets;
    other.push_back("cluster.network.link=" + network);
    RunOptions options;
    options.replay = folder.path();
    const Result replay = run(yaml, other, options);
    CHECK(replay.weights == result.weights);
    CHECK(replay.record.weights_key == result.record.weights_key);
    REQUIRE(replay.record.curve.size() == result.record.curve.size());
    for (std::size_t i = 0; i < result.record.curve.size(); ++i)
      CHECK(replay.record.curve[i].train_loss == result.record.curve[i].train_loss);
    REQUIRE(replay.sink.order.size() == result.sink.order.size());
    for (std::size_t i = 0; i < result.sink.order.size(); ++i) CHECK(replay.sink.order[i].worker == result.sink.order[i].worker);
    CHECK(replay.record.end != result.record.end);
  }
}
