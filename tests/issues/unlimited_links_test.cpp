// `check` failed with "a link carried inf % more than its bandwidth" where a fault takes down a link that it times as unlimited: messages
// passed that link in less than a tick, so its account showed no capacity before the fault.
#include <doctest/doctest.h>

#include <limits>

#include "tests/network/run.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a link that carried bytes in less than a tick may go down") {
  EventQueue queue;
  Network network(queue);
  const LinkId link = network.add_link(1e30);  // a kilobyte in 1e-27 s; a tick is 1e-12 s
  Note before(queue), after(queue);
  network.start({&link, 1}, 1e3, Time(), before);
  straggler::run(queue, network);
  CHECK(before.when == Time());
  network.set_capacity(link, 0);
  CHECK(network.worst_overload() == 0);
  // What comes then waits until the link is back.
  network.start({&link, 1}, 1e3, Time(), after);
  run_until(queue, network, Time::from_seconds(2));
  CHECK(after.times == 0);
  CHECK(network.worst_overload() == 0);
  network.set_capacity(link, 1e3);
  straggler::run(queue, network);
  CHECK(after.when == Time::from_seconds(3));
  CHECK(network.worst_overload() == 0);
}

TEST_CASE("a run with unlimited links may end while a fault has one of them down") {
  RunOptions unlimited;
  unlimited.timing_only = true;
  unlimited.what_if.links.bandwidth_factor = std::numeric_limits<double>::infinity();
  // Batches of 0.1 s. Worker 0 sends ten contributions until 1 s; worker 1's link is down from 0.25 s on, after two.
  const Result result = run(cluster(2),
                            {"training.scheme=asgd", "training.stop.updates=12",
                             "cluster.faults=[{kind: link, worker: 1, from: 0.25s, to: 60s, bandwidth_factor: 0}]"},
                            unlimited);
  CHECK(result.record.end == Time::from_seconds(1));
  CHECK(result.record.updates == 2 + 10);
}

// The bytes of a message took less than a rounding of the time at which they left, so the whole all-reduce had no time for bytes, and
// without contention each link a volume of 0 ("internal error: a flow has a volume of 0").
TEST_CASE("an all-reduce over unlimited links takes what its processors take, with contention and without") {
  RunOptions unlimited;
  unlimited.timing_only = true;
  unlimited.what_if.links.bandwidth_factor = std::numeric_limits<double>::infinity();
  for (const char* const sharing : {"none", "max_min"}) {
    CAPTURE(sharing);
    const Result result = run(cluster(2),
                              {"cluster.network.sharing=" + std::string(sharing), "cluster.network.protocol.per_message=1ms",
                               "cluster.network.collective.algorithm=ring"},
                              unlimited);
    // Batches of 0.1 s. Each of the ring's two rounds is one message to each worker, which costs its sender and its receiver a millisecond.
    CHECK(result.record.updates == 10);
    CHECK(result.record.end == Time::from_seconds(10 * (0.1 + 2 * (0.001 + 0.001))));
  }
}
