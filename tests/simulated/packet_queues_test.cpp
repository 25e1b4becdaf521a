// What a run says of its links' queues.
#include <doctest/doctest.h>

#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a message that is one packet is in its link's queue while it leaves") {
  // One worker alone: ten gradients go up, and the weights come down.
  const double bandwidth = 10e3, model = 464;  // bytes of mlp 2-16-4
  const auto record = [&](const std::string& sharing) {
    return run_timing(cluster(1), {"training.scheme=asgd", "cluster.network.link={bandwidth: 10kB/s, latency: 0s}",
                                   "cluster.network.sharing=" + sharing})
        .record;
  };
  const RunRecord packets = record("{kind: packets, acknowledgement: 0B}");
  REQUIRE(packets.updates == 10);
  CHECK(packets.links.queues);
  const LinkRecord up = packets.links.row(0);
  CHECK(up.bytes == 10 * model);
  CHECK(up.longest_queue_bytes == model);
  CHECK(up.mean_queue_bytes * packets.end.seconds() == doctest::Approx(10 * model * model / bandwidth).epsilon(1e-9));
  const RunRecord flows = record("max_min");
  CHECK_FALSE(flows.links.queues);
  CHECK(flows.links.row(0).longest_queue_bytes == 0);
}
