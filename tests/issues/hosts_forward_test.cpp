// In a topology file all messages between two regions passed through the host of a third one, since that way had less latency, and the
// cable between the two carried none.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("three regions with measured delays: messages take the cable of their two ends") {
  const TemporaryFolder folder;
  for (const bool forwards : {false, true}) {
    CAPTURE(forwards);
    const std::string file = folder
                                 .write("regions.dot", "graph { node [kind=host" + std::string(forwards ? ", forwards=true" : "") +
                                                           "]; edge [bandwidth=\"1Gbps\"]; a -- b [latency=\"67ms\"]; "
                                                           "b -- c [latency=\"49ms\"]; a -- c [latency=\"11ms\"]; }")
                                 .string();
    const Result result = run_timing(cluster(3), {"cluster.servers={count: 1, host: {worker: 0}}", "training.stop={updates: 1}",
                                                  "cluster.network.topology={kind: file, path: " + file + "}",
                                                  "cluster.network.collective={algorithm: ring, fidelity: stepwise}"});
    std::size_t direct = 0;
    for (std::size_t id = 0; id < result.record.links.size; ++id) {
      const LinkRecord link = result.record.links.row(id);
      if (!link.name.starts_with("a--b")) continue;
      ++direct;
      CHECK((link.name.ends_with(":up") && !forwards ? link.bytes > 0 : link.bytes == 0));  // a ring sends 0 to 1, 1 to 2 and 2 to 0
    }
    CHECK(direct == 2);
    // Four steps, each as slow as its slowest message.
    CHECK(result.record.end.seconds() == doctest::Approx(0.1 + 4 * (forwards ? 0.011 + 0.049 : 0.067)).epsilon(1e-3));
  }
}
