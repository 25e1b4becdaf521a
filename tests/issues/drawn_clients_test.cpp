// A sweep without jitter said that its timing was the same for every seed although its scheme draws who acts: only fedavg was known to.
#include <doctest/doctest.h>

#include "scenarios/sweep/chance.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("timing depends on the seed where a scheme draws whom it invites, or who meets whom") {
  const auto depends = [](const std::string& scheme) {
    return timing_depends_on_seed(read_scenario_text(cluster(4), "test.yaml", {"training.scheme=" + scheme}));
  };
  for (const char* scheme : {"{kind: fedavg, fraction: 0.5}", "{kind: fedavg, clients: 2}", "{kind: scaffold, clients: 1}",
                             "{kind: fedbuff, concurrency: 3}", "{kind: fedasync, fraction: 0.25}", "adpsgd"})
    CHECK_MESSAGE(depends(scheme), scheme);
  for (const char* scheme : {"ssgd", "asgd", "fedavg", "{kind: scaffold, clients: 4}", "dpsgd", "{kind: k_sync, k: 2}"})
    CHECK_MESSAGE(!depends(scheme), scheme);
}
