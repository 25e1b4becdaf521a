// A federated round stalled: everybody who was waited for had left, somebody else had come meanwhile, and the server waited for a change of
// members that never came.
#include <doctest/doctest.h>

#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a round continues with the clients that came, after those that the server waited for have left") {
  // A step takes 100 ms. Nobody is in from 50 to 350 ms; worker 1, whom the server waits for then, leaves at 420 ms, and worker 0, which
  // came at 400 ms, is there alone: it is invited at 420 ms.
  for (const std::string scheme : {"{kind: fedavg, local_steps: 1}", "{kind: fedavg, local_steps: 1, on_failure: wait}"}) {
    CAPTURE(scheme);
    const Result result = run_timing(cluster(4), {"training.scheme=" + scheme,
                                                  "cluster.faults=[{kind: leave, worker: 2, at: 50ms}, {kind: leave, worker: 3, at: 50ms}, "
                                                  "{kind: join, worker: 1, at: 350ms}, {kind: join, worker: 0, at: 400ms}, "
                                                  "{kind: leave, worker: 1, at: 420ms}]"});
    CHECK(result.record.outcome == Outcome::completed);
    REQUIRE(result.record.updates == 10);
    REQUIRE(result.sink.order.size() == 10);
    for (const OrderRow& row : result.sink.order) CHECK(row.worker == 0);
    CHECK(result.sink.order.front().time.seconds() == doctest::Approx(0.52).epsilon(1e-9));
  }
}
