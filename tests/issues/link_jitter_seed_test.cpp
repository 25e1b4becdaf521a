// A sweep and a search took runs with jitter of the links alone for the same with every seed.
#include <doctest/doctest.h>

#include "scenarios/sweep/chance.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("timing depends on the seed where only the bandwidth of links varies") {
  const auto seconds = [](const char* jitter, const char* seed) {
    RunOptions options;
    options.timing_only = true;
    const Scenario scenario = read_scenario_text(cluster(2), "test.yaml", {jitter, seed});
    CHECK(timing_depends_on_seed(scenario) == (std::string(jitter) != "cluster.network.jitter=none"));
    return Experiment(scenario, options).run(nullptr, nullptr).end.seconds();
  };
  const char* const varies = "cluster.network.jitter={kind: lognormal, sigma: 0.5}";
  CHECK(seconds(varies, "seed=1") != seconds(varies, "seed=2"));
  CHECK(seconds("cluster.network.jitter=none", "seed=1") == seconds("cluster.network.jitter=none", "seed=2"));
}
