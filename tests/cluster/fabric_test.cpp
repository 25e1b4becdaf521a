// Ranks on hosts: names, sharing of cards, buses inside hosts, half duplex.
#include "sim/cluster/fabric.hpp"
#include "sim/engine/event_queue.hpp"
#include "tests/cluster/topology_cases.hpp"

namespace straggler {
namespace {

Fabric make_fabric(const std::string& kind, const Parameters& parameters, Placement placement) {
  return Fabric(Registry<TopologyEntry>::instance().at(kind), parameters, std::move(placement), 100, microseconds(7));
}

Placement alone(std::size_t workers, std::size_t servers) {
  Placement placement;
  placement.workers = workers;
  placement.servers = servers;
  placement.nics = unequal_nics(workers + servers);
  return placement;
}

/// Seven ranks on four hosts: workers 0, 1, 2 on host 0; 3 on host 1; 4 and server 0 on host 2; server 1 on host 3.
Placement shared() {
  Placement placement;
  placement.workers = 5;
  placement.servers = 2;
  placement.host_of = {0, 0, 0, 1, 2, 2, 3};
  placement.nics = equal_nics(4);
  placement.intra = Placement::Intra{5000, microseconds(2)};
  return placement;
}

TEST_CASE("fabric: a rank alone on each host is the topology itself") {
  const Fabric fabric = make_fabric("star", {}, alone(3, 2));
  CHECK(fabric.ranks() == 5);
  CHECK(fabric.workers() == 3);
  CHECK(fabric.hosts() == 5);
  CHECK(fabric.links() == 10);
  CHECK(fabric.facts().cables == 5);
  Route a, b;
  for (std::uint32_t from = 0; from < 5; ++from) {
    CHECK(fabric.host(from) == from);
    CHECK(fabric.name(from) == fabric.topology().name(from));
    CHECK(fabric.nic_links(from) == std::vector<LinkId>{2 * from, 2 * from + 1});
    for (std::uint32_t to = 0; to < 5; ++to) {
      if (from == to) continue;
      fabric.route(from, to, a);
      fabric.topology().route(from, to, b);
      CHECK(a.links == b.links);
      CHECK(a.latency == b.latency);
    }
  }
  CHECK(fabric.name(2) == "worker/2");
  CHECK(fabric.name(3) == "server/0");
  for (LinkId id = 0; id < 10; ++id) {
    CHECK(fabric.link(id).name == fabric.topology().link(id).name);
    CHECK(fabric.bytes_per_second(id) == fabric.link(id).bytes_per_second);
    CHECK(fabric.reverse(id) == (id ^ 1));
  }
  CHECK_THROWS_AS(fabric.route(0, 0, a), std::out_of_range);
  CHECK_THROWS_AS(fabric.route(0, 5, a), std::out_of_range);
  CHECK_THROWS_AS(fabric.link(10), std::out_of_range);
  CHECK_THROWS_AS(fabric.bytes_per_second(10), std::out_of_range);
  CHECK_THROWS_AS(fabric.nic_links(5), std::out_of_range);
}

TEST_CASE("fabric: aggregators come after servers, on hosts of their own or on others'") {
  Placement own = alone(3, 2);
  own.aggregators = 1;
  own.nics = unequal_nics(6);
  const Fabric apart = make_fabric("star", {}, std::move(own));
  CHECK(apart.ranks() == 6);
  CHECK(apart.name(4) == "server/1");
  CHECK(apart.name(5) == "aggregator/0");
  CHECK(apart.link(10).name == "aggregator/0:up");
  // Behind a backbone with the clients, on a link of its own.
  Placement edge = alone(3, 1);
  edge.aggregators = 1;
  edge.nics = unequal_nics(5);
  Parameters wide;
  wide.set("backbone", 1e6);
  wide.set("up", 3.0);
  const Fabric wan = make_fabric("wan", wide, std::move(edge));
  Route route;
  wan.route(0, 4, route);
  CHECK(route.links.size() == 2);
  wan.route(4, 3, route);
  CHECK(route.links.size() == 3);
  CHECK(wan.bytes_per_second(0) == 3);
  CHECK(wan.bytes_per_second(8) == unequal_nics(5)[4].up_bytes_per_second);
  Placement with_workers = shared();
  with_workers.aggregators = 3;  // on host 1, on one of its own, and with server 1
  with_workers.host_of.insert(with_workers.host_of.end(), {1, 4, 3});
  with_workers.nics = equal_nics(5);
  const Fabric beside = make_fabric("hosts", {}, std::move(with_workers));
  CHECK(beside.host(7) == beside.host(3));
  CHECK(beside.topology().name(3) == "server/1");
  CHECK(beside.topology().name(4) == "aggregator/1");
}

TEST_CASE("fabric: racks are workers whose hosts hang on one switch, where switches have several hosts") {
  // Nine hosts: workers 0-4 in the first rack, 5-7 and the server in the second.
  Parameters two;
  two.set("racks", std::int64_t{2});
  CHECK(make_fabric("two_level", two, alone(8, 1)).racks() == std::vector<Rank>{0, 5});
  // Edge switches of a fat tree with four ports have two hosts each.
  CHECK(make_fabric("fat_tree", {}, alone(5, 1)).racks() == std::vector<Rank>{0, 2, 4});
  for (const char* kind : {"star", "full", "ring", "hosts"}) CHECK(make_fabric(kind, {}, alone(6, 0)).racks() == std::vector<Rank>{0});
  CHECK(make_fabric("hosts", {}, shared()).racks() == std::vector<Rank>{0});
}

TEST_CASE("fabric: ranks of one host share its card, and talk to each other over its bus") {
  const Fabric fabric = make_fabric("hosts", {}, shared());
  CHECK(fabric.ranks() == 7);
  CHECK(fabric.hosts() == 4);
  CHECK(fabric.links() == 2 * 4 + 2 * 7);
  const char* names[] = {"host/0", "host/1", "host/2", "server/1"};  // host 2 has a worker as well, host 3 only a server
  for (std::uint32_t host = 0; host < 4; ++host) CHECK(fabric.topology().name(host) == names[host]);
  CHECK(fabric.name(4) == "worker/4");
  CHECK(fabric.name(5) == "server/0");
  CHECK(fabric.host(5) == 2);

  Route route{{1, 2, 3}, microseconds(1)};
  fabric.route(1, 4, route);
  CHECK(route.links == std::vector<LinkId>{2 * 0, 2 * 2 + 1});
  CHECK(route.latency == microseconds(6));
  fabric.route(0, 2, route);
  CHECK(route.links == std::vector<LinkId>{8 + 2 * 0, 8 + 2 * 2 + 1});
  CHECK(route.latency == microseconds(2));
  fabric.route(5, 4, route);  // a server on a worker's host
  CHECK(route.links == std::vector<LinkId>{8 + 2 * 5, 8 + 2 * 4 + 1});
  fabric.route(4, 6, route);
  CHECK(route.links == std::vector<LinkId>{2 * 2, 2 * 3 + 1});

  std::set<std::string> link_names;
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const LinkDescription link = fabric.link(id), back = fabric.link(fabric.reverse(id));
    CHECK(link_names.insert(link.name).second);
    CHECK(link.from == back.to);
    CHECK(link.to == back.from);
    CHECK(fabric.reverse(fabric.reverse(id)) == id);
    CHECK(fabric.bytes_per_second(id) == link.bytes_per_second);
  }
  const LinkDescription onto = fabric.link(8 + 2 * 5), off = fabric.link(8 + 2 * 4 + 1);
  CHECK(onto.name == "server/0:onto_bus");
  CHECK(onto.from == "server/0");
  CHECK(onto.to == "host/2/bus");
  CHECK(off.from == onto.to);
  CHECK(off.to == "worker/4");
  CHECK(onto.bytes_per_second == 5000);
  CHECK(onto.latency + off.latency == microseconds(2));
  for (const std::uint32_t rank : {0, 1, 2}) CHECK(fabric.nic_links(rank) == std::vector<LinkId>{0, 1});
  CHECK(fabric.nic_links(6) == std::vector<LinkId>{6, 7});
  CHECK_THROWS_AS(fabric.route(0, 7, route), std::out_of_range);
  CHECK_THROWS_AS(fabric.route(7, 0, route), std::out_of_range);
  CHECK_THROWS_AS(fabric.route(3, 3, route), std::out_of_range);
}

TEST_CASE("fabric: without a bus, messages inside a host cross nothing; without sharing there is no bus") {
  Placement no_bus = shared();
  no_bus.intra.reset();
  const Fabric fabric = make_fabric("star", {}, no_bus);
  CHECK(fabric.links() == 8);
  Route route{{1, 2, 3}, microseconds(1)};
  fabric.route(0, 1, route);
  CHECK(route.links.empty());
  CHECK(route.latency == Time());
  Placement apart = alone(3, 1);
  apart.intra = Placement::Intra{5000, microseconds(2)};
  CHECK(make_fabric("star", {}, apart).links() == 8);
  apart.host_of = {3, 2, 1, 0};  // each its own, in another order; host 0 is the server's
  const Fabric turned = make_fabric("star", {}, apart);
  CHECK(turned.links() == 8);
  CHECK(turned.topology().name(0) == "server/0");
  CHECK(turned.topology().name(3) == "host/3");
  turned.route(0, 3, route);
  CHECK(route.links == std::vector<LinkId>{6, 1});
}

TEST_CASE("fabric: half duplex makes one link of a cable") {
  Placement placement = shared();
  placement.half_duplex = true;
  const Fabric fabric = make_fabric("two_level", {{"racks", std::int64_t{2}}, {"oversubscription", 4.0}}, placement);
  // 4 cards and 2 cables to the core, then the buses, two links a rank as ever.
  CHECK(fabric.links() == 6 + 2 * 7);
  const char* names[] = {"host/0", "host/1", "host/2", "server/1", "rack/0", "rack/1"};
  for (LinkId id = 0; id < 6; ++id) {
    CHECK(fabric.link(id).name == names[id]);
    CHECK(fabric.reverse(id) == id);
    CHECK(fabric.bytes_per_second(id) == (id < 4 ? 100 : 2 * 100 / 4.0));
  }
  CHECK(fabric.link(6).name == "worker/0:onto_bus");
  CHECK(fabric.reverse(6) == 7);
  CHECK(fabric.reverse(7) == 6);
  Route route;
  fabric.route(3, 6, route);
  CHECK(route.links == std::vector<LinkId>{1, 4, 5, 3});
  CHECK(route.latency == microseconds(3 + 7 + 7 + 3));
  fabric.route(6, 3, route);
  CHECK(route.links == std::vector<LinkId>{3, 5, 4, 1});
  fabric.route(2, 1, route);
  CHECK(route.links == std::vector<LinkId>{6 + 4, 6 + 3});
  CHECK(fabric.nic_links(2) == std::vector<LinkId>{0});
  CHECK(fabric.nic_links(6) == std::vector<LinkId>{3});

  Placement uneven = alone(2, 0);
  uneven.half_duplex = true;
  CHECK_THROWS_WITH_AS(
      make_fabric("star", {}, uneven),
      "half duplex: 'worker/0:up' and 'worker/0:down' differ in bandwidth or latency; a cable that both directions share has "
      "one of each",
      std::invalid_argument);
  // Alone on their hosts, too.
  Placement even = alone(3, 0);
  even.nics = equal_nics(3);
  even.half_duplex = true;
  const Fabric full = make_fabric("full", {}, even);
  CHECK(full.links() == 3);
  CHECK(full.nic_links(0) == std::vector<LinkId>{0, 1});
  full.route(2, 0, route);
  CHECK(route.links == std::vector<LinkId>{1});
}

TEST_CASE("fabric: every kind, with ranks sharing hosts, half duplex or not, gives routes that connect") {
  for (const TopologyCase& c : topology_cases()) {
    if (c.servers > 0) continue;
    for (const bool half_duplex : {false, true}) {
      CAPTURE(c.kind);
      CAPTURE(c.endpoints);
      Placement placement;
      placement.workers = 2 * c.endpoints;
      placement.nics = equal_nics(c.endpoints);
      for (std::uint32_t r = 0; r < placement.workers; ++r) placement.host_of.push_back(r / 2);
      placement.intra = Placement::Intra{1e9, microseconds(1)};
      placement.half_duplex = half_duplex;
      const Fabric fabric = make_fabric(c.kind, c.parameters, placement);
      Route route;
      for (std::uint32_t from = 0; from < fabric.ranks(); ++from) {
        for (std::uint32_t to = 0; to < fabric.ranks(); ++to) {
          if (from == to) continue;
          fabric.route(from, to, route);
          const bool inside = fabric.host(from) == fabric.host(to);
          std::string at = inside ? fabric.name(from) : fabric.topology().name(fabric.host(from));
          Time latency;
          std::set<LinkId> seen;
          for (const LinkId id : route.links) {
            const LinkDescription link = fabric.link(id);
            CHECK(seen.insert(id).second);
            const bool backwards = half_duplex && !inside && link.from != at;
            CHECK((backwards ? link.to : link.from) == at);
            at = backwards ? link.from : link.to;
            latency += link.latency;
          }
          CHECK(at == (inside ? fabric.name(to) : fabric.topology().name(fabric.host(to))));
          CHECK(latency == route.latency);
        }
      }
    }
  }
}

TEST_CASE("fabric: several servers of one host, and hosts without ranks") {
  Placement placement;
  placement.workers = 1;
  placement.servers = 3;
  placement.host_of = {2, 1, 1, 3};
  placement.nics = equal_nics(5);
  const Fabric fabric = make_fabric("star", {}, placement);
  const char* names[] = {"host/0", "server/0", "host/2", "server/2", "host/4"};
  for (std::uint32_t host = 0; host < 5; ++host) CHECK(fabric.topology().name(host) == names[host]);
  // Clients of a WAN are known by these names.
  CHECK(make_fabric("wan", {{"backbone", 10.0}}, placement).facts().switches == 2);
}

TEST_CASE("fabric: placements that cannot be are refused") {
  Placement none;
  none.workers = 0;
  CHECK_THROWS_AS(make_fabric("star", {}, none), std::invalid_argument);
  Placement few = alone(3, 1);
  few.nics.pop_back();
  CHECK_THROWS_WITH_AS(make_fabric("star", {}, few), "there are 4 workers and servers but 3 hosts; give each a host, or say who shares one",
                       std::invalid_argument);
  Placement short_list = shared();
  short_list.host_of.pop_back();
  CHECK_THROWS_AS(make_fabric("star", {}, short_list), std::invalid_argument);
  Placement beyond = shared();
  beyond.host_of[2] = 4;
  CHECK_THROWS_WITH_AS(make_fabric("star", {}, beyond), "there is no host 4; there are 4", std::invalid_argument);
  Placement slow = shared();
  slow.intra->bytes_per_second = 0;
  CHECK_THROWS_WITH_AS(make_fabric("star", {}, slow), "intra: bandwidth is 0.000000 B/s; it must be above 0", std::invalid_argument);
  Placement negative = shared();
  negative.intra->latency = Time::from_ticks(-1);
  CHECK_THROWS_AS(make_fabric("star", {}, negative), std::invalid_argument);
  CHECK_THROWS_AS(make_fabric("two_level", {}, shared()), std::invalid_argument);
  CHECK_THROWS_AS(make_fabric("torus", {{"dims", Counts{7}}}, shared()), std::invalid_argument);  // 4 hosts, not 7 ranks
}

struct Nobody final : Arrival {
  void arrived() override {}
};

TEST_CASE("fabric: a network built from it has links of the same numbers and sizes") {
  EventQueue queue;
  Network network(queue);
  const Fabric fabric = make_fabric("hosts", {}, shared());
  build_links(fabric, network);
  CHECK(network.links() == fabric.links());
  // A flow alone runs at the rate of its narrowest link.
  Route route;
  Nobody nobody;
  for (std::uint32_t from = 0; from < 7; ++from) {
    for (std::uint32_t to = 0; to < 7; ++to) {
      if (from == to) continue;
      fabric.route(from, to, route);
      const FlowId flow = network.start(route.links, 1e6, Time(), nobody);
      CHECK(network.rate(flow) == doctest::Approx(fabric.host(from) == fabric.host(to) ? 5000 : 100));
      network.cancel(flow);
    }
  }
  CHECK_THROWS_AS(build_links(fabric, network), std::logic_error);
}

}  // namespace
}  // namespace straggler
