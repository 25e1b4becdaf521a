// A replay did not compute what the run had computed in vain: its loaders were ahead of the run's, and a worker that joined did so at
// another version than in the run. Then its choices did not fit, and the replay stalled.
#include <doctest/doctest.h>

#include "tests/support/replay.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a replay of a run with a late join ends as the run did") {
  for (const std::string per_sample : {"1ms", "3ms", "5ms"}) {
    CAPTURE(per_sample);
    const std::vector<std::string> sets = {"training.scheme={kind: nonblocking, minibatch: 2}", "training.batch={global: 6}",
                                           "training.stop.updates=300", "cluster.faults=[{kind: join, worker: 1, at: 0.2289s}]",
                                           "devices.node.loader={workers: 1, per_sample: " + per_sample + ", prefetch: 2}"};
    const Result result = run_timing(cluster(4), sets);
    const Result replayed = replay_timing(cluster(4), sets, result);
    CHECK(replayed.record.outcome == Outcome::completed);
    CHECK(replayed.record.end == result.record.end);
    CHECK(replayed.record.weights_key == result.record.weights_key);
    CHECK(replayed.record.warnings == result.record.warnings);
  }
}
