// Slowdowns by worker and by kind of work, where a synchronous step has a closed form: the slowest batch and an all-reduce.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/reasons/explain_said.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

namespace slowdowns_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr int p = 4, steps = 12;
constexpr double batch = 0.1, ring = 2 * (p - 1) * 8e6 / 1e8 / p;  // seconds: 100 samples of 1 ms; 8 MB over links of 100 MB/s

Slowdowns slowdowns_of(std::vector<std::string> sets) {
  sets.insert(sets.end(), {"workload.cost={bytes: 8MB}", "cluster.network.collective.algorithm=ring",
                           "training.stop={updates: " + std::to_string(steps) + "}"});
  if (std::ranges::none_of(sets, [](const std::string& set) { return set.starts_with("cluster.network.link"); }))
    sets.emplace_back("cluster.network.link={bandwidth: 100MB/s, latency: 0s}");
  const Scenario scenario = read_scenario_text(cluster(p), "test.yaml", sets);
  const EachOf in_order = [](std::size_t count, const std::function<void(std::size_t)>& work) {
    for (std::size_t i = 0; i < count; ++i) work(i);
  };
  return slowdowns(scenario, Blueprint(scenario, "auto"), in_order, {});
}

auto about(double value) { return doctest::Approx(value).epsilon(1e-6); }

}  // namespace

TEST_CASE("one slow worker: the step is its batch and a ring, the even step the mean batch and a ring") {
  const Slowdowns all = slowdowns_of({"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 3}]"});
  constexpr double mean = (3 * 1 + 3) * batch / p, slowdown = (3 * batch + ring) / (mean + ring);
  REQUIRE(all.note.empty());
  CHECK(all.updates == steps);
  CHECK(all.batch_seconds == about(mean));
  CHECK(all.ideal_seconds == about(steps * (mean + ring)));
  CHECK(all.all() == about(slowdown));
  REQUIRE(all.kinds.size() == all_work_kinds.size());
  CHECK(all.kinds[0].slowdown == about(slowdown));
  for (const std::size_t kind : {1, 2}) CHECK(all.kinds[kind].even);
  REQUIRE(all.workers.size() == p);
  for (int worker = 0; worker < p; ++worker)
    CHECK(all.workers[static_cast<std::size_t>(worker)].slowdown == about(worker == 3 ? slowdown : 1));
  CHECK(all.ranked().front()->rank == 3);
  CHECK(*all.slowest_share == about(1));  // all is lost by that worker
  CHECK(all.by_step.size() == steps);
  for (const double step : all.by_step) CHECK(step == about(slowdown));
  const std::string csv = slowdowns_csv(all);
  CHECK(csv.starts_with("what,name,slowdown,time_lost\nall,,"));
  CHECK(std::ranges::count(csv, '\n') == 1 + 1 + 3 + p);
  CHECK(std::ranges::count(step_slowdowns_csv(all), '\n') == 1 + steps * (1 + p));
}

TEST_CASE("batches of a trace: a worker's slowdown of a step is (max(its batch, mean) + ring) / (mean + ring)") {
  TemporaryFolder folder;
  std::string text;
  double factors[steps][p], sum = 0;
  for (int step = 0; step < steps; ++step)
    for (int worker = 0; worker < p; ++worker) {
      const double factor = factors[step][worker] = 0.5 + ((7 * step + 3 * worker) % 11) / 10.0;
      sum += factor;
      text += std::to_string(factor) + (worker + 1 < p ? "," : "\n");
    }
  const std::string path = folder.write("factors.csv", text).string();
  const Slowdowns all = slowdowns_of({"devices.node.jitter={kind: trace, path: " + path + "}"});
  const double mean = batch * sum / (p * steps);
  REQUIRE(all.note.empty());
  CHECK(all.batch_seconds == about(mean));
  double whole = 0;
  std::vector<double> of_worker(p, 0.0);
  for (std::size_t step = 0; step < steps; ++step) {
    const double slowest = batch * *std::max_element(factors[step], factors[step] + p);
    whole += slowest + ring;
    CHECK(all.by_step[step] == about((slowest + ring) / (mean + ring)));
    for (std::size_t worker = 0; worker < p; ++worker) {
      const double alone = (std::max(batch * factors[step][worker], mean) + ring) / (mean + ring);
      CHECK(all.workers[worker].by_step[step] == about(alone));
      of_worker[worker] += alone / steps;
    }
  }
  CHECK(all.seconds == about(whole));
  for (std::size_t worker = 0; worker < p; ++worker) CHECK(all.workers[worker].slowdown == about(of_worker[worker]));
  CHECK(*all.slowest_share < 1);
  CHECK(plain(slowdowns_said(all).front()).find("Uneven workers") == 0);
}

TEST_CASE("one slow link is a slowdown of communicating, and of its worker") {
  const Slowdowns all =
      slowdowns_of({"cluster.workers=[{count: 2, device: node}, {count: 1, device: node, link: {bandwidth: 50MB/s, latency: 0s}}, "
                    "{count: 1, device: node}]"});
  constexpr double slowdown = (batch + 2 * ring) / (batch + ring);
  REQUIRE(all.note.empty());
  CHECK(all.all() == about(slowdown));
  CHECK(all.kinds[0].even);
  CHECK(all.kinds[1].even);
  CHECK(all.kinds[2].slowdown == about(slowdown));
  for (std::size_t worker = 0; worker < p; ++worker) CHECK(all.workers[worker].slowdown == about(worker == 2 ? slowdown : 1));
}

TEST_CASE("asynchronous workers do not wait: uneven ones slow nothing down, and have no common steps") {
  const Slowdowns all = slowdowns_of({"training.scheme=asgd", "cluster.network.link={bandwidth: 1000GB/s, latency: 0s}",
                                      "cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 3}]"});
  CHECK(all.all() == doctest::Approx(1).epsilon(0.1));  // of 12 updates
  CHECK(all.by_step.empty());
}

TEST_CASE("even workers are reported as even") {
  const Slowdowns all = slowdowns_of({});
  CHECK(all.all() == about(1));
  for (const Slowdowns::Kind& kind : all.kinds) CHECK(kind.even);
  CHECK_FALSE(all.slowest_share.has_value());
  CHECK(plain(slowdowns_said(all).front()).find("Workers are even") == 0);
  Slowdowns nearly = all;
  nearly.seconds = 0.9954 * nearly.ideal_seconds;
  CHECK(plain(slowdowns_said(nearly).front()).find("would take as long (slowdown S = 0.995).") != std::string::npos);
  Slowdowns worse = all;  // as where the others wait for one another more
  worse.seconds = 1.02 * worse.ideal_seconds;
  worse.slowest = 3;
  worse.slowest_share = -1.25;
  CHECK(plain(slowdowns_said(worse).back()) ==
        "If only the slowest 3 workers were even, the run would take longer (share of the lost time M_W = -1.25).");
}

}  // namespace slowdowns_test
