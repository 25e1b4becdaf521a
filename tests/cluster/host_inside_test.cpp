// Inside a host: switches, sockets and NVLink, by their links, routes and latencies.
#include <set>

#include "sim/cluster/fabric.hpp"
#include "sim/cluster/host_machine.hpp"
#include "tests/cluster/topology_cases.hpp"

namespace straggler::host_inside_test {
namespace {

using Level = Placement::Level;

/// Two hosts of eight workers, and a server on the first.
Fabric make_fabric(const Placement::Intra& intra) {
  Placement placement;
  placement.workers = 16;
  placement.servers = 1;
  placement.nics = equal_nics(2);
  for (std::uint32_t worker = 0; worker < 16; ++worker) placement.host_of.push_back(worker / 8);
  placement.host_of.push_back(0);
  placement.intra = intra;
  return Fabric(Registry<TopologyEntry>::instance().at("star"), {}, std::move(placement), 100, Time());
}

Placement::Intra tree() { return {5000, microseconds(2), Level{2, 4000, microseconds(1)}, Level{4, 3000, microseconds(5)}, {}}; }

std::vector<std::string> names_on(const Fabric& fabric, Rank from, Rank to) {
  Route route;
  fabric.route(from, to, route);
  std::vector<std::string> names;
  for (const LinkId link : route.links) names.push_back(fabric.link(link).name);
  return names;
}

Time latency(const Fabric& fabric, Rank from, Rank to) {
  Route route;
  fabric.route(from, to, route);
  return route.latency;
}

TEST_CASE("the levels above a worker, and how many share them") {
  // Seven workers on one host, in switches of two below sockets of four, and a server beside them.
  HostLevels levels;
  levels.bytes_per_second = 1e9;
  levels.pcie_switch = {2, 2e9, Time()};
  levels.socket = {4, 3e9, Time()};
  const HostInside inside(levels, std::vector<std::uint32_t>(8, 0), 7);
  const auto above = [&](Rank rank) {
    std::vector<std::pair<double, std::uint32_t>> out;
    for (const LevelLink& each : inside.above(rank)) out.emplace_back(inside.bytes_per_second(each.link), each.workers);
    return out;
  };
  using Levels = std::vector<std::pair<double, std::uint32_t>>;
  CHECK(above(0) == Levels{{2e9, 2}, {2e9, 2}, {3e9, 4}, {3e9, 4}});
  CHECK(above(6) == Levels{{2e9, 1}, {2e9, 1}, {3e9, 3}, {3e9, 3}});
  CHECK(inside.above(0)[2].link == inside.above(3)[2].link);
  CHECK(inside.above(0)[2].link != inside.above(4)[2].link);
  CHECK(inside.above(7).empty());
}

TEST_CASE("inside a host: a message goes up to where both meet, and down again") {
  const Fabric fabric = make_fabric(tree());
  // Four cables of cards; two ways a rank; two a switch, of four on each host; two a socket, of two.
  CHECK(fabric.links() == 4 + 2 * 17 + 2 * 8 + 2 * 4);
  using Names = std::vector<std::string>;
  CHECK(names_on(fabric, 0, 1) == Names{"worker/0:onto_bus", "worker/1:off_bus"});
  CHECK(latency(fabric, 0, 1) == microseconds(2));
  CHECK(names_on(fabric, 1, 2) == Names{"worker/1:onto_bus", "host/0/switch/0:up", "host/0/switch/1:down", "worker/2:off_bus"});
  CHECK(latency(fabric, 1, 2) == microseconds(2 + 1));
  CHECK(names_on(fabric, 15, 8) == Names{"worker/15:onto_bus", "host/1/switch/3:up", "host/1/socket/1:up", "host/1/socket/0:down",
                                         "host/1/switch/0:down", "worker/8:off_bus"});
  CHECK(latency(fabric, 15, 8) == microseconds(2 + 1 + 5));
  // The server sits above all switches.
  CHECK(names_on(fabric, 16, 5) == Names{"server/0:onto_bus", "host/0/socket/1:down", "host/0/switch/2:down", "worker/5:off_bus"});
  CHECK(names_on(fabric, 5, 16) == Names{"worker/5:onto_bus", "host/0/switch/2:up", "host/0/socket/1:up", "server/0:off_bus"});
  CHECK(names_on(fabric, 7, 8) == Names{"host/0:up", "host/1:down"});
}

TEST_CASE("inside a host: every route is a chain of links, and the way back is the same one") {
  for (const Placement::Intra& intra :
       {Placement::Intra{5000, microseconds(2)}, tree(), Placement::Intra{5000, microseconds(2), Level{3, 4000, {}}, {}, {}},
        Placement::Intra{5000, microseconds(2), {}, Level{4, 3000, {}}, Level{2, 9000, microseconds(1)}}}) {
    const Fabric fabric = make_fabric(intra);
    std::set<std::string> names;
    for (LinkId id = 0; id < fabric.links(); ++id) {
      const LinkDescription link = fabric.link(id), back = fabric.link(fabric.reverse(id));
      CHECK(names.insert(link.name).second);
      CHECK(link.from == back.to);
      CHECK(link.to == back.from);
      CHECK(fabric.bytes_per_second(id) == link.bytes_per_second);
      CHECK(fabric.is_inside(id) == (id >= 4));
    }
    Route route, back;
    for (Rank from = 0; from < 17; ++from) {
      for (Rank to = 0; to < 17; ++to) {
        if (from == to || fabric.host(from) != fabric.host(to)) continue;
        fabric.route(from, to, route);
        fabric.route(to, from, back);
        CHECK(fabric.link(route.links.front()).from == fabric.name(from));
        CHECK(fabric.link(route.links.back()).to == fabric.name(to));
        for (std::size_t i = 1; i < route.links.size(); ++i) CHECK(fabric.link(route.links[i - 1]).to == fabric.link(route.links[i]).from);
        REQUIRE(route.links.size() == back.links.size());
        CHECK(route.latency == back.latency);
        for (std::size_t i = 0; i < route.links.size(); ++i) CHECK(fabric.reverse(route.links[i]) == back.links[back.links.size() - 1 - i]);
      }
    }
  }
}

TEST_CASE("inside a host: members of an NVLink group leave the bus to the others") {
  const Fabric fabric = make_fabric({5000, microseconds(2), {}, {}, Level{2, 9000, microseconds(1)}});
  CHECK(names_on(fabric, 2, 3) == std::vector<std::string>{"worker/2:onto_nvlink", "worker/3:off_nvlink"});
  CHECK(latency(fabric, 2, 3) == microseconds(1));
  CHECK(names_on(fabric, 3, 4) == std::vector<std::string>{"worker/3:onto_bus", "worker/4:off_bus"});
  CHECK(fabric.inside_links(3).size() == 4);
  CHECK(fabric.bytes_per_second(fabric.inside_links(3)[2]) == 9000);
}

TEST_CASE("inside a host: impossible levels are refused") {
  Placement::Intra broken = tree();
  broken.socket.workers = 3;
  CHECK_THROWS_AS(make_fabric(broken), std::invalid_argument);
  Placement::Intra slow = tree();
  slow.pcie_switch.bytes_per_second = 0;
  CHECK_THROWS_AS(make_fabric(slow), std::invalid_argument);
}

TEST_CASE("built-in machines can be built, and each figure has a source") {
  for (const HostMachine& machine : Registry<HostMachine>::instance().entries()) {
    CAPTURE(machine.name);
    const auto level = [](const HostMachine::Level& of) {
      return Level{static_cast<std::size_t>(of.workers), of.bandwidth, Time::from_seconds(of.latency)};
    };
    make_fabric(
        {machine.bandwidth, Time::from_seconds(machine.latency), level(machine.pcie_switch), level(machine.socket), level(machine.nvlink)});
    CHECK(machine.while_computing > 0);
    CHECK(machine.while_computing <= 1);
    CHECK(machine.source.size() > 40);
  }
}

}  // namespace
}  // namespace straggler::host_inside_test
