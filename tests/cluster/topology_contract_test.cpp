// What every registered topology promises, on small instances against plain and slow references.
#include "sim/cluster/fabric.hpp"
#include "tests/cluster/topology_cases.hpp"
#include "tests/support/sanitized.hpp"

namespace straggler {
namespace {

/// Those of the cases, with equal and unequal cards, and what `file` reads of them.
template <class Check>
void for_each_topology(const std::vector<TopologyCase>& cases, Check check) {
  const Folder folder;
  for (const TopologyCase& c : cases) {
    for (const bool unequal : {false, true}) {
      CAPTURE(c.kind);
      CAPTURE(c.endpoints);
      CAPTURE(unequal);
      const auto topology = make_case(c, unequal);
      check(*topology, c.kind);
      const std::string path = folder / "network.dot";
      write_graph(*topology, path);
      for (const bool multipath : {false, true}) {
        const auto read =
            make_topology("file", {{"path", path}, {"multipath", multipath}}, request_of(equal_nics(c.endpoints), c.endpoints - c.servers));
        check(*read, "file");
      }
    }
  }
}

template <class Check>
void for_all(Check check) {
  const std::size_t step = test::sanitized ? 4 : 1;  // each call of this has others
  for_each_topology(test::one_in(step, topology_cases()), check);
  for_each_topology(test::one_in(step, larger_topology_cases()), check);
}

TEST_CASE("topologies: every registered kind is among the cases") {
  std::set<std::string> covered{"file"};
  for (const TopologyCase& c : topology_cases()) covered.insert(c.kind);
  for (const TopologyEntry& entry : Registry<TopologyEntry>::instance().entries()) {
    CAPTURE(entry.name);
    CHECK(covered.count(entry.name) == 1);
    CHECK(!entry.summary.empty());
  }
}

TEST_CASE("topologies: links are named once, come in pairs, and their nodes are end points and switches") {
  for_all([](const Topology& topology, const std::string&) {
    const Listed net(topology);
    std::set<std::string> names;
    for (LinkId id = 0; id < topology.links(); ++id) {
      const LinkDescription &link = net.links[id], &back = net.links[id ^ 1];
      CHECK(names.insert(link.name).second);
      CHECK(link.from == back.to);
      CHECK(link.to == back.from);
      CHECK(link.from != link.to);
      CHECK(link.bytes_per_second > 0);
      CHECK(topology.bytes_per_second(id) == link.bytes_per_second);
      CHECK(link.latency >= Time());
    }
    CHECK(topology.links() % 2 == 0);
    CHECK_THROWS_AS(topology.link(static_cast<LinkId>(topology.links())), std::out_of_range);
    std::set<std::size_t> hosts(net.hosts.begin(), net.hosts.end());
    CHECK(hosts.size() == topology.endpoints());
    CHECK(topology.facts().switches == net.nodes() - hosts.size());
    CHECK(topology.facts().cables == topology.links() / 2);
  });
}

TEST_CASE("topologies: an end point's own links are those that touch it") {
  for_all([](const Topology& topology, const std::string&) {
    const Listed net(topology);
    for (std::uint32_t e = 0; e < topology.endpoints(); ++e) {
      std::set<LinkId> expected;
      for (LinkId id = 0; id < net.links.size(); ++id)
        if (net.links[id].from == topology.name(e) || net.links[id].to == topology.name(e)) expected.insert(id);
      const std::vector<LinkId> own = topology.own_links(e);
      CHECK(std::set<LinkId>(own.begin(), own.end()) == expected);
      CHECK(own.size() == expected.size());
    }
  });
}

TEST_CASE("topologies: routes lead from sender to receiver, over no link twice, and the same each time") {
  for_all([](const Topology& topology, const std::string&) {
    const Listed net(topology);
    Route route{{9, 9, 9, 9, 9, 9, 9, 9, 9}, Time::from_ticks(1)}, again, back;
    const std::uint32_t n = static_cast<std::uint32_t>(topology.endpoints());
    for (std::uint32_t from = 0; from < n; ++from) {
      for (std::uint32_t to = 0; to < n; ++to) {
        if (from == to) continue;
        topology.route(from, to, route);
        std::size_t at = net.hosts[from];
        Time latency;
        for (const LinkId link : route.links) {
          REQUIRE(link < net.links.size());
          CHECK(net.from[link] == at);
          at = net.to[link];
          latency += net.links[link].latency;
        }
        CHECK(at == net.hosts[to]);
        CHECK(route.latency == latency);
        CHECK(std::set<LinkId>(route.links.begin(), route.links.end()).size() == route.links.size());
        topology.route(from, to, again);
        CHECK(again.links == route.links);
        topology.route(to, from, back);
        CHECK(back.links.size() == route.links.size());
      }
    }
    CHECK_THROWS_AS(topology.route(0, 0, route), std::out_of_range);
    CHECK_THROWS_AS(topology.route(0, n, route), std::out_of_range);
    CHECK_THROWS_AS(topology.route(n, 0, route), std::out_of_range);
  });
}

/// Dragonflies take at most one global cable, so theirs is the shortest of local ways and of those with one.
Reach shortest(const Listed& net, const std::vector<std::vector<Reach>>& ways, std::size_t from, std::size_t to) {
  Reach least = ways[from][to];
  for (std::size_t l = 0; l < net.links.size(); ++l) {
    if (!net.links[l].name.starts_with("global/")) continue;
    least = std::min(least, ways[from][net.from[l]] + Reach{net.links[l].latency.ticks(), 1} + ways[net.to[l]][to]);
  }
  return least;
}

TEST_CASE("topologies: routes are the shortest by latency, then hops; facts name the longest of them") {
  for_all([](const Topology& topology, const std::string&) {
    const Listed net(topology);
    const bool dragonfly =  // or what `file` reads of one
        std::any_of(net.links.begin(), net.links.end(), [](const LinkDescription& link) { return link.name.starts_with("global/"); });
    const auto ways = all_ways(net, [&](const LinkDescription& link) { return !dragonfly || !link.name.starts_with("global/"); });
    const std::uint32_t n = static_cast<std::uint32_t>(topology.endpoints());
    std::size_t hops = 0;
    Time latency;
    Route route;
    for (std::uint32_t from = 0; from < n; ++from) {
      for (std::uint32_t to = 0; to < n; ++to) {
        if (from == to) continue;
        topology.route(from, to, route);
        const Reach best = dragonfly ? shortest(net, ways, net.hosts[from], net.hosts[to]) : ways[net.hosts[from]][net.hosts[to]];
        CHECK(route.latency.ticks() == best.ticks);
        CHECK(static_cast<std::int64_t>(route.links.size()) == best.hops);
        hops = std::max(hops, route.links.size());
        latency = std::max(latency, route.latency);
      }
    }
    CHECK(topology.facts().diameter_hops == hops);
    CHECK(topology.facts().diameter_latency == latency);
  });
}

TEST_CASE("topologies: bisection bandwidth is the least cut over all halves, or a bound that says so") {
  const Folder folder;
  for (const TopologyCase& c : topology_cases()) {
    for (const bool unequal : {false, true}) {
      CAPTURE(c.kind);
      CAPTURE(c.endpoints);
      CAPTURE(unequal);
      const auto topology = make_case(c, unequal);
      const double expected = bisection_by_force(Listed(*topology));
      const TopologyFacts facts = topology->facts();
      CAPTURE(expected);
      CAPTURE(facts.bisection_bytes_per_second);
      CHECK(facts.bisection_bytes_per_second >= expected * (1 - 1e-9));
      if (!facts.bisection_is_bound) CHECK(facts.bisection_bytes_per_second == doctest::Approx(expected).epsilon(1e-9));
      if (!unequal && c.kind != "torus" && c.kind != "fat_tree" && c.kind != "dragonfly" && c.kind != "rails")
        CHECK(!facts.bisection_is_bound);
      // A file's is only known to be at least that; with its first half against its second among the cuts, these are met.
      write_graph(*topology, folder / "network.graphml");
      const auto read = make_topology("file", {{"path", folder / "network.graphml"}}, request_of(equal_nics(c.endpoints), c.endpoints));
      CHECK(read->facts().bisection_bytes_per_second >= expected * (1 - 1e-9));
      CHECK(read->facts().bisection_is_bound == (c.endpoints > 1));
    }
  }
}

}  // namespace
}  // namespace straggler
