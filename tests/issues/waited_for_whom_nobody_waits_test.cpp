// Slow workers whose gradients a scheme does not wait for were told to be waited for: fast ones idle, in wait for other fast ones.
#include <doctest/doctest.h>

#include "scenarios/results/waited_for.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("no worker waits for workers whose work is interrupted") {
  IdleOfGroups groups(2);
  groups.add(0, 0.2, 0.5, 0.1, 1);
  groups.add(1, 0.02, 0.1, 0.88, 1);
  CHECK(groups.shares() == std::vector<double>{0.2, -1});
  const std::vector<std::string> sets = {"cluster.workers=[{count: 6, device: node}, {count: 2, device: node, slowdown: 4}]",
                                         "cluster.servers.count=1", "devices.node.jitter={kind: lognormal, sigma: 0.5}",
                                         "training.stop={updates: 40}"};
  const auto waited = [&](const char* scheme) {
    std::vector<std::string> all = sets;
    all.push_back(std::string("training.scheme=") + scheme);
    const Result result = run_timing(cluster(8), all);
    return waited_for(scenario_of(cluster(8), all), idle_of_groups(result.record));
  };
  CHECK(waited("{kind: ssgd, via: server}") == "workers 6 and 7 (4x slower)");
  CHECK(waited("{kind: k_sync, k: 5}") == "");
}
