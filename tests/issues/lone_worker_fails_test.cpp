// A lone worker has no all-reduce, but `start: as_they_come` made one for it, which needs all workers: a crash was an internal error. Where
// there are several, the combination is refused.
#include <doctest/doctest.h>

#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a lone worker may crash and come back although all-reduces would start as workers come") {
  const std::vector<std::string> together = {"training.scheme={kind: local_sgd, steps: 2, on_failure: drop}", "training.stop.updates=12",
                                             "cluster.faults=[{kind: crash, worker: 0, at: 20ms, restart_after: 3ms}]",
                                             "cluster.network.collective={fidelity: stepwise}"};
  std::vector<std::string> skewed = together;
  skewed.back() = "cluster.network.collective={fidelity: stepwise, start: as_they_come}";
  const Result one = run_timing(cluster(1), skewed), other = run_timing(cluster(1), together);
  CHECK(one.record.outcome == Outcome::completed);
  CHECK(one.record.updates == 12);
  CHECK(one.record.end == other.record.end);
  CHECK(one.record.weights_key == other.record.weights_key);
  CHECK(has(error_of<ScenarioErrors>([&] { run_timing(cluster(2), skewed); }), "use start: together"));
}
