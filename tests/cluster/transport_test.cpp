// Carriage: what a message becomes for the network.
#include "sim/cluster/transport.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace straggler;

TEST_CASE("a carriage is a flow, without its latencies or with both in front") {
  const std::vector<LinkId> links{3, 1};
  const std::vector<double> volumes{1, 0.5};
  Carriage carriage;
  CHECK(carriage.plain());
  carriage.before = Time::from_seconds(0.25);
  carriage.after = Time::from_seconds(0.5);
  carriage.bytes = 12;
  carriage.links = links;
  CHECK(carriage.plain());
  CHECK(carriage.with_latency().latency == Time::from_seconds(0.75));
  CHECK(carriage.flow(carriage.before).latency == Time::from_seconds(0.25));
  carriage.volumes = volumes;
  carriage.weight = 2;
  carriage.most_bytes_per_second = 7;
  const FlowRequest flow = carriage.flow({});
  CHECK(flow.latency == Time());
  CHECK(flow.route.data() == links.data());
  CHECK(flow.volumes.data() == volumes.data());
  CHECK(flow.bytes == 12);
  CHECK(flow.weight == 2);
  CHECK(flow.most_bytes_per_second == 7);
}

TEST_CASE("a carriage with a weight, volumes or a most is not plain") {
  const double volume = 2;
  Carriage weighed, uneven, capped;
  weighed.weight = 2;
  uneven.volumes = {&volume, 1};
  capped.most_bytes_per_second = 1e9;
  CHECK(!weighed.plain());
  CHECK(!uneven.plain());
  CHECK(!capped.plain());
}
