// `evaluate.every: {rounds: 1}` was unknown, and `stop: {rounds: 10}` was ten gradients where a gradient is an update.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scenarios/schema/reader.hpp"
#include "tests/support/scenarios.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::string four_workers =
    scenario_text({.name = "rounds",
                   .network = "{link: {bandwidth: 1Gbps, latency: 50us}, intra: {bandwidth: 10GB/s, latency: 1us}}",
                   .model = "{kind: mlp, hidden: [8]}",
                   .data = "{kind: coordinates, samples: 100}",
                   .scheme = "ssgd",
                   .batch = "{per_worker: 5}",
                   .optimizer = "{learning_rate: 0.1}",
                   .stop = "{rounds: 9}",
                   .evaluate = "{every: {rounds: 2}}"});

}  // namespace

TEST_CASE("a round is an update where all contribute to it, and is refused elsewhere") {
  for (const char* scheme : {"ssgd", "{kind: k_sync, k: 2}", "{kind: backup_workers, backups: 1}", "{kind: rennala, batch: 4}",
                             "{kind: local_sgd, steps: 3}", "{kind: diloco, steps: 4, fragments: 2, delay: 1}", "dpsgd", "fedavg"}) {
    CAPTURE(scheme);
    const Scenario scenario = read_scenario_text(four_workers, "test.yaml", {std::string("training.scheme=") + scheme});
    CHECK(scenario.training.stop.updates == 9);
    CHECK(scenario.training.evaluate.every_updates == 2);
    CHECK(!scenario.training.evaluate.every_epochs);
  }
  for (const std::string kind : {"asgd", "ssp", "adpsgd", "fedasync", "fedbuff", "softsync", "downpour"}) {
    const std::string given = kind == "ssp"        ? "{kind: ssp, slack: 1}"
                              : kind == "fedbuff"  ? "{kind: fedbuff, buffer: 2}"
                              : kind == "softsync" ? "{kind: softsync, n: 2}"
                                                   : kind;
    CAPTURE(kind);
    std::vector<std::string> said;
    try {
      read_scenario_text(four_workers, "test.yaml", {"training.scheme=" + given});
    } catch (const ScenarioErrors& errors) {
      said = errors.lines();
    }
    REQUIRE(said.size() == 2);
    const std::string what = kind + " has no rounds; write updates, which counts the published versions";
    CHECK(said[0] == "test.yaml:17:18: training.stop.rounds: " + what);
    CHECK(said[1] == "test.yaml:18:30: training.evaluate.every.rounds: " + what);
  }
  // As any two intervals.
  CHECK_THROWS_AS(read_scenario_text(four_workers, "test.yaml", {"training.evaluate.every={rounds: 1, updates: 1}"}), ScenarioErrors);
}
