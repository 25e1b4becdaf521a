// A group of workers on the last host of the group before it.
#include <doctest/doctest.h>

#include "scenarios/schema/writer.hpp"
#include "tests/support/run.hpp"

namespace straggler::test {
namespace {

/// Hosts of eight; a worker that computes for 1 ms, and gradients of 125 kB over links of 1 Gbps: 1 ms in each direction.
const std::vector<std::string> hosts_of_eight{"devices.node.compute={affine: {overhead: 0s, per_sample: 10us}}",
                                              "training.batch.per_worker=100",
                                              "workload.cost={bytes: 125kB}",
                                              "training.stop={updates: 1}",
                                              "cluster.network.link={bandwidth: 1Gbps, latency: 0s}",
                                              "cluster.network.collective={algorithm: ring}"};

std::vector<std::string> with(const std::string& workers, std::vector<std::string> more = {}) {
  std::vector<std::string> sets = hosts_of_eight;
  sets.push_back("cluster.workers=" + workers);
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

std::string group_error_of(const std::string& workers, std::vector<std::string> more = {}) {
  try {
    run_timing(cluster(2), with(workers, std::move(more)));
  } catch (const std::exception& wrong) {
    return wrong.what();
  }
  return "none";
}

std::size_t hosts(const std::string& workers) {
  const Scenario scenario = read_scenario_text(cluster(2), "/scenario.yaml", with(workers, {"cluster.servers={count: 0}"}));
  RunOptions options;
  options.timing_only = true;
  return Experiment(scenario, options).explain().hosts;
}

}  // namespace

TEST_CASE("same_host: a slow worker fills the last host of the group before, and opens none") {
  CHECK(hosts("[{count: 63, device: node, per_host: 8}, {count: 1, device: node, per_host: 8, slowdown: 2}]") == 9);
  CHECK(hosts("[{count: 63, device: node, per_host: 8}, {count: 1, device: node, same_host: true, slowdown: 2}]") == 8);
  // It fills the host and goes on with hosts of its own; the next group goes on from there.
  CHECK(hosts("[{count: 7, device: node, per_host: 8}, {count: 5, device: node, same_host: true}, {count: 4, device: node, same_host: "
              "true}]") == 2);
}

TEST_CASE("same_host: an all-reduce is that of one group on the same hosts") {
  // 16 workers on two hosts: a ring crosses each host's link once, so that a step takes 2 (15/16) of 1 ms, and 2 ms for the slow worker.
  const Result one = run_timing(cluster(2), with("[{count: 16, device: node, per_host: 8}]"));
  const Result two =
      run_timing(cluster(2), with("[{count: 15, device: node, per_host: 8}, {count: 1, device: node, same_host: true, slowdown: 2}]"));
  CHECK(one.record.end.seconds() == doctest::Approx(1e-3 + 2 * 15.0 / 16 * 1e-3).epsilon(1e-9));
  CHECK(two.record.end.seconds() == doctest::Approx(2e-3 + 2 * 15.0 / 16 * 1e-3).epsilon(1e-9));
}

TEST_CASE("same_host: the cores of a host are shared by workers of both groups") {
  // Three workers on two cores, one sample of 10 us each, 100 samples: each computes at 2/3 of the speed.
  const std::vector<std::string> alone{
      "cluster.workers=[{count: 2, device: node, per_host: 3, cores_per_host: 2}, "
      "{count: 1, device: node, same_host: true}]",
      "workload.cost={bytes: 1B}"};
  CHECK(run_timing(cluster(2), with("[{count: 1, device: node}]", alone)).record.end.seconds() == doctest::Approx(1.5e-3).epsilon(1e-3));
}

TEST_CASE("same_host: scenario.yaml of a run is read back as the same scenario") {
  const Scenario scenario = read_scenario_text(
      cluster(2), "/scenario.yaml",
      with("[{count: 5, device: node, per_host: 4, cores_per_host: 2, waiting: busy, link: {bandwidth: 2Gbps, latency: 1us}}, "
           "{count: 2, device: node, same_host: true, slowdown: 2}]"));
  CHECK(scenario.cluster.workers[1].same_host);
  CHECK(scenario.cluster.workers[1].per_host == 4);
  CHECK(scenario.cluster.workers[1].link->up == 250e6);
  CHECK(read_scenario_text(write_scenario(scenario), "/scenario.yaml") == scenario);
}

TEST_CASE("same_host: impossible groups are refused at their place") {
  CHECK(group_error_of("[{count: 2, device: node, same_host: true}]").find("cluster.workers[0].same_host: there is no previous group") !=
        std::string::npos);
  for (const char* first : {"{count: 16, device: node, per_host: 8}", "{count: 4, device: node}"})
    CHECK(group_error_of("[" + std::string(first) + ", {count: 2, device: node, same_host: true}]")
              .find("cluster.workers[1].same_host: the last host of the previous group is full") != std::string::npos);
  for (const char* own :
       {"link: {bandwidth: 2Gbps}", "per_host: 4", "cores_per_host: 2", "loader_cores: 2", "memory_bandwidth: 20GB/s", "waiting: busy"}) {
    CAPTURE(own);
    const std::string key(own, std::string(own).find(':'));
    CHECK(group_error_of("[{count: 7, device: node, per_host: 8}, {count: 1, device: node, same_host: true, " + std::string(own) + "}]")
              .find("cluster.workers[1]." + key + ": differs from that of the previous group") != std::string::npos);
  }
  CHECK(group_error_of("[{count: 7, device: node, per_host: 8}, {count: 1, device: node, same_host: true, per_host: 8}]") == "none");
  CHECK(group_error_of("[{count: 7, device: node, per_host: 8}, {count: 1, device: node, same_host: 1}]").find("true or false") !=
        std::string::npos);
}

}  // namespace straggler::test
