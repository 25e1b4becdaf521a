// Workers called by what is special about them.
#include <doctest/doctest.h>

#include "scenarios/results/waited_for.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/worker_names.hpp"

using namespace straggler;

namespace {

Scenario with_workers(const std::string& workers, int samples = 1000) {
  return read_scenario_text(R"(straggler: 1
devices:
  node: {compute: {affine: {per_sample: 1ms}}}
  fast: {compute: {affine: {per_sample: 0.1ms}}}
cluster:
  workers: )" + workers + R"(
  network: {link: {bandwidth: 1Gbps, latency: 50us}}
workload: {model: softmax, data: {kind: coordinates, samples: )" +
                                std::to_string(samples) + R"(}}
training: {scheme: ssgd, batch: {per_worker: 8}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {updates: 1}}
)",
                            "test.yaml");
}

}  // namespace

TEST_CASE("a worker is named by its difference from most others") {
  const Scenario slow = with_workers("[{count: 13, device: node}, {count: 1, device: node, slowdown: 3}, {count: 2, device: node}]");
  const WorkerNames names(slow);
  CHECK(names.worker(13) == "worker 13 (3x slower)");
  CHECK(names.worker(12) == "worker 12");
  CHECK(names.worker(0) == "worker 0");
  CHECK(names.worker(15) == "worker 15");
  CHECK(names.group(0) == "workers 0 to 12");
  CHECK(names.group(2) == "workers 14 and 15");
  // Most are slow: then the others are the special ones.
  const Scenario quick = with_workers("[{count: 2, device: node}, {count: 6, device: node, slowdown: 1.5}]");
  CHECK(WorkerNames(quick).group(0) == "workers 0 and 1 (1.5x faster)");
  CHECK(WorkerNames(quick).difference(1) == "");
  const Scenario mixed = with_workers(
      "[{count: 4, device: node}, {count: 1, device: fast, slowdown: 2}, {count: 1, device: node, link: {bandwidth: 100Mbps}}, "
      "{count: 1, device: node, link: {latency: 1ms}}]");
  CHECK(WorkerNames(mixed).worker(4) == "worker 4 (fast, 2x slower)");
  CHECK(WorkerNames(mixed).worker(5) == "worker 5 (link 100Mbps)");
  CHECK(WorkerNames(mixed).worker(6) == "worker 6 (link with a latency of 1ms)");
}

TEST_CASE("workers of very many groups are named, and not all at once") {
  constexpr int groups = 10'000;
  std::string workers = "[{count: 2, device: node}";
  for (int i = 1; i < groups; ++i) workers += i % 10 == 0 ? ", {device: node, slowdown: 2}" : ", {device: node}";
  const Scenario scenario = with_workers(workers + "]", 20'000);
  const WorkerNames names(scenario);
  CHECK(names.worker(10) == "worker 10");
  CHECK(names.group(10) == "worker 11 (2x slower)");  // group 0 has two workers
  CHECK(names.worker(groups) == "worker 10000");
  std::vector<std::size_t> slow;
  for (std::size_t group = 10; group < groups; group += 10) slow.push_back(group);
  CHECK(names.groups({10, 20}) == "worker 11 (2x slower), worker 21 (2x slower)");
  CHECK(names.groups(slow).ends_with("worker 81 (2x slower) and 991 more groups"));
  // All others idle for the slow ones.
  std::vector<double> idle(groups, 0.5);
  for (const std::size_t group : slow) idle[group] = 0;
  CHECK(waited_for(scenario, idle) == names.groups(slow));
}

TEST_CASE("the others waited for those who are special and idle at most half as much") {
  const Scenario scenario = with_workers("[{count: 6, device: node}, {count: 2, device: node, slowdown: 3}]");
  CHECK(waited_for(scenario, {0.69, 0.02}) == "workers 6 and 7 (3x slower)");
  CHECK(waited_for(scenario, {0.69, 0.4}) == "");   // they idle, too
  CHECK(waited_for(scenario, {0.09, 0}) == "");     // hardly anybody waits
  CHECK(waited_for(scenario, {0.02, 0.69}) == "");  // the other way round: the others are as most are
  CHECK(waited_for(scenario, {0.69, -1}) == "");
  CHECK(waited_for(scenario, {}) == "");
}
