// What is particular to each kind: its bandwidths, its choices among equal ways, and what it refuses.
#include <cmath>

#include "tests/cluster/topology_cases.hpp"

namespace straggler {
namespace {

std::unique_ptr<Topology> equal(const std::string& kind, const Parameters& parameters, std::size_t n, std::size_t servers = 0) {
  return make_topology(kind, parameters, request_of(equal_nics(n), n - servers));
}

std::vector<std::string> names_on(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  Route route;
  topology.route(from, to, route);
  std::vector<std::string> names;
  for (const LinkId link : route.links) names.push_back(topology.link(link).name);
  return names;
}

LinkDescription link_called(const Topology& topology, const std::string& name) {
  for (LinkId id = 0; id < topology.links(); ++id)
    if (topology.link(id).name == name) return topology.link(id);
  throw std::runtime_error("no link " + name);
}

using Names = std::vector<std::string>;

TEST_CASE("two_level: racks are filled in order, one more host in the first ones; cables carry their rack's cards") {
  // 8 hosts in 3 racks: 3, 3, 2.
  const std::vector<Nic> nics = unequal_nics(8);
  const auto topology = make_topology("two_level", {{"racks", std::int64_t{3}}, {"oversubscription", 2.5}}, request_of(nics, 8));
  const std::size_t first[] = {0, 3, 6, 8};
  for (std::size_t rack = 0; rack < 3; ++rack) {
    const std::string name = "rack/" + std::to_string(rack);
    double up = 0, down = 0;
    for (std::size_t e = first[rack]; e < first[rack + 1]; ++e) {
      CHECK(topology->link(static_cast<LinkId>(2 * e)).to == name);
      up += nics[e].up_bytes_per_second;
      down += nics[e].down_bytes_per_second;
    }
    const LinkDescription above = link_called(*topology, name + ":up"), below = link_called(*topology, name + ":down");
    CHECK(above.from == name);
    CHECK(above.to == "core");
    CHECK(above.bytes_per_second == doctest::Approx(up / 2.5));
    CHECK(below.bytes_per_second == doctest::Approx(down / 2.5));
    CHECK(above.latency == microseconds(7));
  }
  CHECK(names_on(*topology, 2, 3) == Names{"worker/2:up", "rack/0:up", "rack/1:down", "worker/3:down"});
  CHECK(names_on(*topology, 3, 5) == Names{"worker/3:up", "worker/5:down"});
}

TEST_CASE("two_level, rails and wan: bandwidth and latency of the core are as given, and only those") {
  const std::vector<Nic> nics = unequal_nics(8);
  TopologyRequest request = request_of(nics, 6);
  for (std::uint32_t e = 0; e < 8; ++e) request.card.push_back(e % 2);
  const struct {
    const char* kind;
    Parameters plain, given;
    std::uint32_t from, to;  // on two switches
    int cables;              // between them
  } cases[] = {
      {"two_level", {{"racks", std::int64_t{2}}}, {{"racks", std::int64_t{2}}, {"bandwidth", 55.0}, {"latency", 11e-6}}, 1, 6, 2},
      {"rails", {}, {{"bandwidth", 55.0}, {"latency", 11e-6}}, 0, 3, 2},
      {"wan", {{"backbone", 55.0}}, {{"backbone", 55.0}, {"backbone_latency", 11e-6}}, 2, 7, 1},
  };
  for (const auto& each : cases) {
    CAPTURE(each.kind);
    const auto plain = make_topology(each.kind, each.plain, request), given = make_topology(each.kind, each.given, request);
    REQUIRE(plain->links() == given->links());
    for (LinkId id = 0; id < given->links(); ++id) {
      const LinkDescription link = given->link(id), before = plain->link(id);
      CHECK(link.name == before.name);
      const bool card = id < 2 * nics.size();
      CHECK(link.bytes_per_second == (card ? before.bytes_per_second : 55.0));
      CHECK(link.latency == (card ? before.latency : microseconds(11)));
    }
    Route route, route_before;
    given->route(each.from, each.to, route);
    plain->route(each.from, each.to, route_before);
    CHECK(route.links == route_before.links);
    CHECK(route.latency == nics[each.from].latency + nics[each.to].latency + microseconds(11 * each.cables));
    CHECK(route_before.latency == nics[each.from].latency + nics[each.to].latency + microseconds(7 * each.cables));
  }
}

TEST_CASE("fat_tree: D-mod-k spreads destinations evenly over all core cables of a full tree") {
  for (const std::int64_t k : {4, 6, 8}) {
    const std::size_t n = static_cast<std::size_t>(k * k * k / 4);
    const auto topology = equal("fat_tree", {{"k", k}}, n);
    std::vector<std::set<std::uint32_t>> destinations(topology->links());
    Route route;
    for (std::uint32_t from = 0; from < n; ++from) {
      for (std::uint32_t to = 0; to < n; ++to) {
        if (from == to) continue;
        topology->route(from, to, route);
        for (const LinkId link : route.links) destinations[link].insert(to);
      }
    }
    const std::size_t half = static_cast<std::size_t>(k / 2);
    for (LinkId id = static_cast<LinkId>(2 * n); id < topology->links(); ++id) {
      const LinkDescription link = topology->link(id);
      CAPTURE(link.name);
      const bool down = id % 2 == 1, core = link.name.find("aggregation") != std::string::npos;
      // Down: one destination of each pod a core cable, k/2 an aggregation cable (one of each edge switch: half · half / half).
      // Up from an edge switch: all n - k/2 others over k/2 ports; up from an aggregation switch: n - (k/2)² over (k/2)² cables.
      const std::size_t expected = down ? 1 : core ? (n - half * half) / (half * half) : (n - half) / half;
      CHECK(destinations[id].size() == expected);
    }
  }
}

TEST_CASE("fat_tree: the port up depends on the destination only; without multipath it is the first") {
  const auto spread = equal("fat_tree", {{"k", std::int64_t{4}}}, 16),
             first = equal("fat_tree", {{"k", std::int64_t{4}}, {"multipath", false}}, 16);
  // Destination 15: edge port 15 mod 2, aggregation port ⌊15/2⌋ mod 2.
  CHECK(names_on(*spread, 0, 15) == Names{"worker/0:up", "pod/0/edge/0/port/1:up", "pod/0/aggregation/1/port/1:up",
                                          "pod/3/aggregation/1/port/1:down", "pod/3/edge/1/port/1:down", "worker/15:down"});
  CHECK(names_on(*spread, 0, 2) == Names{"worker/0:up", "pod/0/edge/0/port/0:up", "pod/0/edge/1/port/0:down", "worker/2:down"});
  for (std::uint32_t to = 4; to < 16; ++to) {
    const Names names = names_on(*first, 0, to);
    CHECK(names[1] == "pod/0/edge/0/port/0:up");
    CHECK(names[2] == "pod/0/aggregation/0/port/0:up");
  }
  // Port 1 of aggregation switch 1 leads to core switch 1 · 2 + 1.
  CHECK(link_called(*spread, "pod/2/aggregation/1/port/1:up").to == "core/3");
}

TEST_CASE("fat_tree: without k, the smallest that holds the hosts") {
  const std::pair<std::size_t, std::size_t> sizes[] = {{1, 2}, {2, 2}, {3, 4}, {16, 4}, {17, 6}, {54, 6}, {55, 8}, {1024, 16}, {1025, 18}};
  for (const auto& size : sizes) {
    const std::size_t k = size.second;
    CHECK(equal("fat_tree", {}, size.first)->facts().switches == k * k + k * k / 4);
  }
}

TEST_CASE("ring and torus: the shorter way round, ties up, dimension by dimension") {
  const auto ring = equal("ring", {}, 6);
  CHECK(names_on(*ring, 5, 1) == Names{"worker/5:up", "ring/5:up", "ring/0:up", "worker/1:down"});
  CHECK(names_on(*ring, 1, 5) == Names{"worker/1:up", "ring/0:down", "ring/5:down", "worker/5:down"});
  CHECK(names_on(*ring, 4, 1) == Names{"worker/4:up", "ring/4:up", "ring/5:up", "ring/0:up", "worker/1:down"});  // three either way
  const auto torus = equal("torus", {{"dims", Counts{3, 2, 4}}}, 24);
  // 0.0.0 to 2.1.2: down in the first dimension, along the only cable of the second, a tie in the third.
  CHECK(torus->link(0).to == "switch/0.0.0");
  CHECK(torus->link(2 * 22).to == "switch/2.1.2");  // 2 · 8 + 1 · 4 + 2
  CHECK(names_on(*torus, 0, 22) == Names{"worker/0:up", "switch/2.0.0/dim/0:down", "switch/2.0.0/dim/1:up", "switch/2.1.0/dim/2:up",
                                         "switch/2.1.1/dim/2:up", "worker/22:down"});
  CHECK(names_on(*torus, 4, 0) == Names{"worker/4:up", "switch/0.0.0/dim/1:down", "worker/0:down"});
  // Two switches have one cable, one none.
  CHECK(equal("ring", {}, 2)->links() == 2 * 3);
  CHECK(equal("ring", {}, 1)->links() == 2);
  CHECK(equal("torus", {{"dims", Counts{3, 2, 4}}}, 24)->links() == 2 * (24 + 24 + 12 + 24));
}

TEST_CASE("dragonfly: every two routers of a group and every two groups have one cable, spread evenly over a group's routers") {
  const auto topology = equal("dragonfly", {{"groups", std::int64_t{8}}, {"routers", std::int64_t{3}}, {"hosts", std::int64_t{2}}}, 48);
  std::map<std::pair<std::string, std::string>, int> local, global;
  std::map<std::string, int> of_router;
  const auto group = [](const std::string& router) { return router.substr(0, router.find("/router")); };
  for (LinkId id = 2 * 48; id < topology->links(); ++id) {
    const LinkDescription link = topology->link(id);
    if (group(link.from) == group(link.to))
      ++local[{link.from, link.to}];
    else
      ++global[{group(link.from), group(link.to)}], ++of_router[link.from];
  }
  CHECK(local.size() == 8 * 3 * 2);
  CHECK(global.size() == 8 * 7);
  for (const auto& pair : local) CHECK(pair.second == 1);
  for (const auto& pair : global) CHECK(pair.second == 1);
  CHECK(of_router.size() == 24);  // 7 cables on 3 routers: 3, 2, 2
  for (const auto& router : of_router) CHECK((router.second == 2 || router.second == 3));
  // At most one global cable, at most one local on either side.
  for (std::uint32_t from = 0; from < 48; ++from) {
    for (std::uint32_t to = 0; to < 48; ++to) {
      if (from == to) continue;
      int globals = 0;
      const Names names = names_on(*topology, from, to);
      for (const std::string& name : names) globals += name.starts_with("global/") ? 1 : 0;
      CHECK(globals == (from / 6 == to / 6 ? 0 : 1));
      CHECK(names.size() <= 5);
    }
  }
  // Rates and latencies of their own.
  const auto tuned = equal("dragonfly",
                           {{"groups", std::int64_t{2}},
                            {"routers", std::int64_t{2}},
                            {"hosts", std::int64_t{1}},
                            {"bandwidth", 5.0},
                            {"latency", 1e-6},
                            {"global_bandwidth", 9.0},
                            {"global_latency", 8e-6}},
                           4);
  CHECK(link_called(*tuned, "group/1/local/0-1:down").bytes_per_second == 5);
  CHECK(link_called(*tuned, "group/1/local/0-1:down").latency == microseconds(1));
  CHECK(link_called(*tuned, "global/0-1:up").bytes_per_second == 9);
  CHECK(link_called(*tuned, "global/0-1:up").latency == microseconds(8));
}

TEST_CASE("full: each pair's cable is as fast as the narrower of the two cards, and as slow as both") {
  const std::vector<Nic> nics = unequal_nics(6);
  const auto topology = make_topology("full", {}, request_of(nics, 5));
  CHECK(topology->links() == 30);
  Route route;
  for (std::uint32_t from = 0; from < 6; ++from) {
    for (std::uint32_t to = 0; to < 6; ++to) {
      if (from == to) continue;
      topology->route(from, to, route);
      REQUIRE(route.links.size() == 1);
      CHECK(topology->bytes_per_second(route.links[0]) == std::min(nics[from].up_bytes_per_second, nics[to].down_bytes_per_second));
      CHECK(route.latency == nics[from].latency + nics[to].latency);
    }
  }
  CHECK(names_on(*topology, 5, 0) == Names{"worker/0--server/0:down"});
}

TEST_CASE("wan: up and down are the clients', the backbone lies between them and the servers") {
  const auto plain = equal("wan", {{"up", 10.0}, {"down", 40.0}}, 3, 1);
  CHECK(plain->bytes_per_second(0) == 10);
  CHECK(plain->bytes_per_second(1) == 40);
  CHECK(plain->bytes_per_second(4) == 100);
  CHECK(plain->bytes_per_second(5) == 100);
  const auto backbone = equal("wan", {{"up", 10.0}, {"backbone", 70.0}}, 4, 2);
  CHECK(backbone->bytes_per_second(0) == 10);
  CHECK(backbone->bytes_per_second(1) == 100);
  CHECK(names_on(*backbone, 1, 2) == Names{"worker/1:up", "backbone:up", "server/0:down"});
  CHECK(names_on(*backbone, 3, 0) == Names{"server/1:up", "backbone:down", "worker/0:down"});
  CHECK(names_on(*backbone, 0, 1) == Names{"worker/0:up", "worker/1:down"});
  CHECK(link_called(*backbone, "backbone:up").bytes_per_second == 70);
  CHECK(link_called(*backbone, "backbone:up").latency == microseconds(7));
  // Hosts of workers are clients too.
  TopologyRequest request = request_of(equal_nics(2), 1);
  request.name = [](std::size_t e) { return e == 0 ? std::string("host/0") : std::string("server/0"); };
  CHECK(make_topology("wan", {{"up", 10.0}}, request)->bytes_per_second(0) == 10);
}

TEST_CASE("cables between switches are the network's link unless the topology says otherwise") {
  for (const auto& kind : {std::pair<const char*, Parameters>{"ring", {}}, {"torus", {{"dims", Counts{2, 2}}}}, {"fat_tree", {}}}) {
    CAPTURE(kind.first);
    const auto plain = equal(kind.first, kind.second, 4);
    CHECK(plain->link(8).bytes_per_second == 100);
    CHECK(plain->link(8).latency == microseconds(7));
    Parameters own = kind.second;
    own.set("bandwidth", 33.0);
    own.set("latency", 2e-6);
    const auto tuned = equal(kind.first, own, 4);
    CHECK(tuned->link(9).bytes_per_second == 33);
    CHECK(tuned->link(9).latency == microseconds(2));
    CHECK(tuned->link(0).bytes_per_second == 100);
  }
}

void refused(const std::string& kind, const Parameters& parameters, std::size_t n, const std::string& part, std::size_t servers = 0) {
  CAPTURE(kind);
  CAPTURE(part);
  std::string said = "nothing";
  try {
    equal(kind, parameters, n, servers);
  } catch (const std::invalid_argument& error) {
    said = error.what();
  }
  CAPTURE(said);
  CHECK(said.find(part) != std::string::npos);
}

TEST_CASE("topologies: wrong parameters are refused with the remedy") {
  const auto count = [](const char* name, std::int64_t n) { return Parameters{{name, n}}; };
  refused("two_level", {}, 4, "racks: is missing");
  refused("two_level", count("racks", 0), 4, "racks: 0 is out of range; it must be at least 1");
  refused("two_level", count("racks", 5), 4, "racks: there are 5 racks but only 4 hosts to put into them; give at most 4");
  refused("two_level", {{"racks", std::int64_t{2}}, {"oversubscription", 0.5}}, 4,
          "oversubscription: 0.5 is out of range; it must be at least 1");
  refused("two_level", {{"racks", std::int64_t{2}}, {"bandwidth", 0.0}}, 4, "bandwidth: 0B/s is out of range; it must be above 0B/s");
  for (const char* kind : {"two_level", "rails"}) {
    Parameters both{{"bandwidth", 5.0}, {"oversubscription", 2.0}};
    if (kind == std::string("two_level")) both.set("racks", std::int64_t{2});
    refused(kind, both, 4, "has both oversubscription and bandwidth; keep one");
  }
  refused("wan", {{"backbone_latency", 1e-3}}, 3, "backbone_latency: there is no backbone; write its bandwidth as backbone", 1);
  refused("fat_tree", count("k", 5), 4, "k: 5 is odd; half of a switch's ports go up, so write an even number such as 4");
  refused("fat_tree", count("k", 0), 4, "k: 0 is out of range");
  refused("fat_tree", count("k", 4), 17, "has room for 16 end points, but there are 17; write k: 6 or leave k out");
  refused("fat_tree", {{"bandwidth", 0.0}}, 4, "bandwidth: 0B/s is out of range; it must be above 0B/s");
  refused("fat_tree", {{"latency", -1.0}}, 4, "latency: -1 is out of range; it must be at least 0s");
  refused("fat_tree", {{"latency", 2e6}}, 4, "latency:");
  refused("fat_tree", {{"multipath", std::int64_t{1}}}, 4, "multipath: wrong type; it must be true or false");
  refused("torus", {}, 6, "dims: is missing");
  refused("torus", {{"dims", Counts{}}}, 6, "dims: there are 0 dimensions; give 1 to 32, such as [3, 2]");
  refused("torus", {{"dims", Counts{2, 4}}}, 6, "dims: [2, 4] is a torus of 8 end points, but there are 6; write [3, 2]");
  refused("torus", {{"dims", Counts{2, 2}}}, 7, "write [7, 1]");
  refused("torus", {{"dims", Counts{2, 2, 2}}}, 36, "write [4, 3, 3]");
  refused("torus", {{"dims", Counts{0, 6}}}, 6, "dims: 0 is out of range; it must be at least 1");
  refused("torus", {{"dims", Counts{std::int64_t{1} << 40, std::int64_t{1} << 40}}}, 6, "dims:");
  refused("torus", {{"dims", Counts(33, 1)}}, 1, "dims: there are 33 dimensions");
  refused("dragonfly", {{"groups", std::int64_t{2}}, {"routers", std::int64_t{2}}}, 4, "hosts: is missing");
  refused("dragonfly", {{"groups", std::int64_t{2}}, {"routers", std::int64_t{2}}, {"hosts", std::int64_t{1}}}, 5,
          "has room for 4 end points, but there are 5; give more groups, routers or hosts");
  refused("dragonfly", {{"groups", std::int64_t{0}}, {"routers", std::int64_t{2}}, {"hosts", std::int64_t{1}}}, 5,
          "groups: 0 is out of range");
  refused("dragonfly", {{"groups", std::int64_t{60'000}}, {"routers", std::int64_t{60'000}}, {"hosts", std::int64_t{1}}}, 5, "too many");
  refused("full", {}, 70'000, "70000 end points are too many for a cable each pair; give at most 65536");
  refused("wan", {{"up", 0.0}}, 3, "up: 0B/s is out of range", 1);
  refused("wan", {{"backbone", 5.0}}, 3, "there are no servers with hosts of their own; leave backbone out or add some");
  refused("wan", {{"backbone", 5.0}}, 3, "there are no clients", 3);
  refused("ring", {{"bandwith", 5.0}}, 3, "did you mean 'bandwidth'?");
  refused("star", {{"racks", std::int64_t{2}}}, 3, "racks: unknown parameter");
  for (const char* kind : {"star", "hosts", "wan", "fat_tree", "ring", "full"}) refused(kind, {}, 0, "there are no end points");
  refused("two_level", count("racks", 1), 0, "there are no end points");
}

TEST_CASE("topologies: a network link that cannot be, and routes that take too long, are refused") {
  TopologyRequest request = request_of(equal_nics(4), 4);
  request.bytes_per_second = 0;
  CHECK_THROWS_WITH_AS(make_topology("ring", {}, request), "the bandwidth between switches is 0.000000 B/s; it must be above 0",
                       std::invalid_argument);
  request.bytes_per_second = std::nan("");
  CHECK_THROWS_AS(make_topology("fat_tree", {}, request), std::invalid_argument);
  request.bytes_per_second = 100;
  request.latency = Time::from_ticks(-1);
  CHECK_THROWS_AS(make_topology("ring", {}, request), std::invalid_argument);
  // 1,000 hops of a day each pass 100 days; so do two cards of 50 days and anything between them.
  TopologyRequest far = request_of(equal_nics(2000), 2000);
  far.latency = Time::from_seconds(86'400);
  CHECK_THROWS_AS(make_topology("ring", {}, far), std::invalid_argument);
  far.nics.resize(100);
  CHECK_NOTHROW(make_topology("ring", {}, far));
  TopologyRequest slow = request_of(std::vector<Nic>(2, Nic{1, 1, Time::from_ticks(Time::limit().ticks() / 2)}), 2);
  CHECK_NOTHROW(make_topology("star", {}, slow));
  slow.latency = Time::from_seconds(1e5);
  CHECK_THROWS_AS(make_topology("two_level", {{"racks", std::int64_t{2}}}, slow), std::invalid_argument);
}

}  // namespace
}  // namespace straggler
