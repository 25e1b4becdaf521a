// Settings that can be read and fit nothing else in the scenario: each is refused in one line, with its place and a remedy.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "scenarios/experiment/blueprint.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

namespace refused_settings_test {

using namespace straggler;
using namespace straggler::test;

namespace {

std::string refusal(const std::vector<std::string>& sets) {
  try {
    const Scenario scenario = read_scenario_text(cluster(4), "test.yaml", sets);
    const Blueprint blueprint(scenario, "generic");
  } catch (const ScenarioErrors& errors) {
    return errors.lines().size() == 1 ? errors.lines().front() : "several lines";
  }
  return "none";
}

}  // namespace

TEST_CASE("a topology that makes a link as fast as its burst's peak is refused") {
  const auto wan = [](const std::string& rates) {
    return refusal(
        {"training.scheme=asgd", "cluster.servers={count: 1}",
         "cluster.network={link: {bandwidth: 1MB/s, latency: 1ms, burst: 1MB, peak: 10MB/s}, topology: {kind: wan, " + rates + "}}"});
  };
  CHECK(has(
      wan("up: 20MB/s"),
      "cluster.network.link.peak: 10MB/s is not above the bandwidth that the topology gives worker 0, 20MB/s; write a peak above that"));
  CHECK(has(wan("down: 10MB/s"), "cluster.network.link.peak: 10MB/s is not above the bandwidth that the topology gives worker 0, 10MB/s"));
  CHECK(wan("up: 5MB/s") == "none");
}

TEST_CASE("what needs a quorum is refused without one") {
  const auto with = [](const std::string& scheme) { return refusal({"training.scheme={" + scheme + "}", "cluster.servers={count: 1}"}); };
  for (const char* const more : {"grace: 1s", "late: drop", "average: by_samples", "average: by_samples_times_rate"}) {
    const std::string name = std::string(more).substr(0, std::string(more).find(':'));
    CHECK(has(with("kind: diloco, steps: 2, " + std::string(more)),
              name + ": is of no use without a quorum; add quorum: 2, or remove " + name));
    CHECK(with("kind: diloco, steps: 2, quorum: 2, " + std::string(more)) == "none");
  }
  CHECK(with("kind: async_diloco, steps: 2, buffer: 5") == "none");  // momentum after more changes than there are workers
}

}  // namespace refused_settings_test
