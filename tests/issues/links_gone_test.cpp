// Links that fail for good end the run as what has stalled, not as a deadlock of the program (a random scenario found it).
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/run.hpp"

namespace links_gone_test {

using namespace straggler;
using namespace straggler::test;

TEST_CASE("links that fail and are never repaired stall the run, which says which links and since when") {
  // Batches take 100 ms; the links are gone at 20 ms, so that the first messages stay where they are.
  for (const std::string fault : {"{kind: random, of: link, every: 20ms}", "{kind: random, of: link, every: 20ms, repair: never}",
                                  "{kind: fail_slow, of: link, every: 20ms, lasts: never, bandwidth_factor: 0}"}) {
    for (const std::string scheme : {"ssgd", "{kind: ssgd, via: server}", "asgd", "{kind: local_sgd, steps: 1}"}) {
      CAPTURE(fault);
      CAPTURE(scheme);
      const Result result = run_timing(cluster(3), {"training.scheme=" + scheme, "cluster.faults=[" + fault + "]",
                                                    "cluster.network.link={bandwidth: 1Gbps, latency: 50us}"});
      CHECK(result.record.outcome == Outcome::stalled);
      CHECK(result.record.updates == 0);
      CHECK(result.record.end.seconds() == doctest::Approx(0.1).epsilon(1e-3));
      CHECK(result.record.stalled.starts_with("link/worker/0"));
      CHECK(result.record.stalled.find(" has carried nothing since 20ms, nor have 3 more") != std::string::npos);
    }
  }
}

TEST_CASE("links that fail later than the run ends, or are repaired, do not stall it") {
  const Result calm = run_timing(cluster(3), {"training.scheme=asgd"});
  for (const std::string fault : {"{kind: random, of: link, every: 1000h}", "{kind: random, of: link, every: 170ms, repair: 30ms}"}) {
    CAPTURE(fault);
    const Result result = run_timing(cluster(3), {"training.scheme=asgd", "cluster.faults=[" + fault + "]"});
    CHECK(result.record.outcome == Outcome::completed);
    CHECK(result.record.updates == calm.record.updates);
    CHECK(result.record.stalled.empty());
  }
}

}  // namespace links_gone_test
