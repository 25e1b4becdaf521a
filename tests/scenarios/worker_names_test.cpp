// Workers called by what is special about them.
#include <doctest/doctest.h>

#include "scenarios/results/waited_for.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/worker_names.hpp"

using namespace straggler;

namespace {

Scenario with_workers(const std::string& workers) {
  return read_scenario_text(R"(straggler: 1
devices:
  node: {compute: {affine: {per_sample: 1ms}}}
  fast: {compute: {affine: {per_sample: 0.1ms}}}
cluster:
  workers: )" + workers + R"(
  network: {link: {bandwidth: 1Gbps, latency: 50us}}
workload: {model: softmax, data: {kind: coordinates, samples: 1000}}
training: {scheme: ssgd, batch: {per_worker: 8}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {updates: 1}}
)",
                            "test.yaml");
}

}  // namespace

TEST_CASE("a worker is named by its difference from most others") {
  const Scenario slow = with_workers("[{count: 13, device: node}, {count: 1, device: node, slowdown: 3}, {count: 2, device: node}]");
  CHECK(worker_name(slow, 13) == "worker 13 (3x slower)");
  CHECK(worker_name(slow, 12) == "worker 12");
  CHECK(worker_name(slow, 15) == "worker 15");
  CHECK(workers_of_group(slow, 0) == "workers 0 to 12");
  CHECK(workers_of_group(slow, 2) == "workers 14 and 15");
  // Most are slow: then the others are the special ones.
  const Scenario quick = with_workers("[{count: 2, device: node}, {count: 6, device: node, slowdown: 1.5}]");
  CHECK(workers_of_group(quick, 0) == "workers 0 and 1 (1.5x faster)");
  CHECK(group_difference(quick, 1) == "");
  const Scenario mixed = with_workers(
      "[{count: 4, device: node}, {count: 1, device: fast, slowdown: 2}, {count: 1, device: node, link: {bandwidth: 100Mbps}}, "
      "{count: 1, device: node, link: {latency: 1ms}}]");
  CHECK(worker_name(mixed, 4) == "worker 4 (fast, 2x slower)");
  CHECK(worker_name(mixed, 5) == "worker 5 (link 100Mbps)");
  CHECK(worker_name(mixed, 6) == "worker 6 (link with a latency of 1ms)");
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
