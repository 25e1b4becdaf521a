#include <doctest/doctest.h>

#include <stdexcept>

#include "sim/base/registry.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/engine/event_queue.hpp"

namespace straggler {
namespace {

std::unique_ptr<Topology> star(std::vector<Nic> nics, std::size_t workers) {
  return Registry<TopologyEntry>::instance().at("star").make({}, std::move(nics), workers);
}

/// Three workers and two servers: 1 Gbit/s and 50 us, but worker 1 has a tenth of it and 1 ms, server 0 has 20 us, server 1 ten times the
/// bandwidth and 10 us.
std::vector<Nic> five() {
  const Nic plain{125e6, Time::from_seconds(50e-6)};
  return {plain, {12.5e6, Time::from_seconds(1e-3)}, plain, {125e6, Time::from_seconds(20e-6)}, {1250e6, Time::from_seconds(10e-6)}};
}

TEST_CASE("star: an up-link and a down-link each, named after their end point") {
  const auto topology = star(five(), 3);
  CHECK(topology->endpoints() == 5);
  CHECK(topology->links() == 10);
  const char* names[] = {"worker/0", "worker/1", "worker/2", "server/0", "server/1"};
  for (LinkId i = 0; i < 5; ++i) {
    const LinkDescription up = topology->link(2 * i), down = topology->link(2 * i + 1);
    CHECK(up.name == std::string(names[i]) + ":up");
    CHECK(up.from == names[i]);
    CHECK(up.to == "switch");
    CHECK(down.name == std::string(names[i]) + ":down");
    CHECK(down.from == "switch");
    CHECK(down.to == names[i]);
    for (const LinkDescription& link : {up, down}) {
      CHECK(link.bytes_per_second == five()[i].bytes_per_second);
      CHECK(link.latency == five()[i].latency);
    }
  }
  CHECK_THROWS_AS(topology->link(10), std::out_of_range);
}

TEST_CASE("star: a route goes up at its sender and down at its receiver, and pays both latencies") {
  const auto topology = star(five(), 3);
  Route route{{7, 7, 7}, Time::from_ticks(1)};  // overwritten
  for (std::uint32_t from = 0; from < 5; ++from) {
    for (std::uint32_t to = 0; to < 5; ++to) {
      if (from == to) continue;
      topology->route(from, to, route);
      CHECK(route.links == std::vector<LinkId>{2 * from, 2 * to + 1});
      CHECK(route.latency == topology->link(route.links[0]).latency + topology->link(route.links[1]).latency);
    }
  }
  topology->route(1, 4, route);
  CHECK(route.latency.ticks() == 1'000'000'000 + 10'000'000);
  CHECK_THROWS_AS(topology->route(2, 2, route), std::out_of_range);
  CHECK_THROWS_AS(topology->route(0, 5, route), std::out_of_range);
}

TEST_CASE("star: a million equal workers and one server") {
  std::vector<Nic> nics(1'000'001, Nic{125e6, Time::from_seconds(50e-6)});
  nics.back().bytes_per_second = 1250e6;
  const auto topology = star(std::move(nics), 1'000'000);
  CHECK(topology->link(1'999'998).name == "worker/999999:up");
  CHECK(topology->link(1'999'999).bytes_per_second == 125e6);
  CHECK(topology->link(2'000'001).name == "server/0:down");
  CHECK(topology->link(2'000'001).bytes_per_second == 1250e6);
  Route route;
  topology->route(999'999, 1'000'000, route);
  CHECK(route.links == std::vector<LinkId>{1'999'998, 2'000'001});
}

TEST_CASE("star: cards that cannot be are refused") {
  CHECK_THROWS_WITH_AS(star({{125e6, Time()}, {0, Time()}}, 1), "server/0: link.bandwidth is 0.000000 B/s; it must be above 0",
                       std::invalid_argument);
  CHECK_THROWS_AS(star({{125e6, Time::from_ticks(-1)}}, 1), std::invalid_argument);
  CHECK_THROWS_AS(star({{125e6, Time()}}, 2), std::logic_error);
}

struct Nobody final : Arrival {
  void arrived() override {}
};

TEST_CASE("a network built from a topology numbers and sizes its links alike") {
  EventQueue queue;
  Network network(queue);
  const auto topology = star(five(), 3);
  build_links(*topology, network);
  // A flow alone on both links runs at the narrower card's rate.
  Route route;
  Nobody nobody;
  for (std::uint32_t from = 0; from < 5; ++from) {
    for (std::uint32_t to = 0; to < 5; ++to) {
      if (from == to) continue;
      topology->route(from, to, route);
      const FlowId flow = network.start(route.links, 1e6, Time(), nobody);
      CHECK(network.rate(flow) == doctest::Approx(std::min(five()[from].bytes_per_second, five()[to].bytes_per_second)));
      network.cancel(flow);
    }
  }
  CHECK(network.add_link(1) == 10);
  CHECK_THROWS_AS(build_links(*topology, network), std::logic_error);
}

}  // namespace
}  // namespace straggler
