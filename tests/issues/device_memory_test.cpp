// Device memory where it was told wrong.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// What `check` would know, or the refusal.
std::pair<Explanation::Group, std::string> explained_memory(const std::string& cost, const std::string& memory) {
  RunOptions options;
  options.timing_only = true;
  try {
    const Experiment experiment(read_scenario_text(cluster(2), "test.yaml", {"workload.cost=" + cost, "devices.node.memory=" + memory}),
                                options);
    return {experiment.explain().groups.at(0), ""};
  } catch (const ScenarioErrors& errors) {
    return {{}, errors.lines().front()};
  }
}

}  // namespace

TEST_CASE("a model with known bytes only has no activations to count, and the message says so") {
  const auto layers = explained_memory("{model: resnet18}", "1000GB"), roomy = explained_memory("{bytes: 44MB}", "1000GB");
  CHECK_MESSAGE(layers.second.empty(), layers.second);
  CHECK(layers.first.counts_activations);
  CHECK_MESSAGE(roomy.second.empty(), roomy.second);
  CHECK_FALSE(roomy.first.counts_activations);
  const std::string refused = explained_memory("{bytes: 44MB}", "50MB").second,
                    known = explained_memory("{model: resnet18}", "50MB").second;
  CHECK_MESSAGE(refused.find("; without activations, which workload.cost.bytes does not give") != std::string::npos, refused);
  CHECK_MESSAGE(known.find(", activations ") != std::string::npos, known);
}
