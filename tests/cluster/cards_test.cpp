// Several network cards of a host: whose messages leave by which, what they cross on the way, and rails.
#include <array>

#include "sim/cluster/fabric.hpp"
#include "tests/cluster/topology_cases.hpp"

namespace straggler::cards_test {
namespace {

using Level = Placement::Level;
using Names = std::vector<std::string>;

/// Two hosts of eight workers, and a server on the first.
Fabric make_fabric(const Placement::Intra& intra, const std::string& kind = "star", const Parameters& given = {}) {
  Placement placement;
  placement.workers = 16;
  placement.servers = 1;
  placement.nics = equal_nics(2);
  for (std::uint32_t worker = 0; worker < 16; ++worker) placement.host_of.push_back(worker / 8);
  placement.host_of.push_back(0);
  placement.intra = intra;
  return Fabric(Registry<TopologyEntry>::instance().at(kind), given, std::move(placement), 100, microseconds(7));
}

/// Switches of four, sockets of eight, and a card for every two workers.
Placement::Intra inside(CardPlace place, std::size_t workers = 2) {
  return {5000, microseconds(2), Level{4, 4000, microseconds(1)}, Level{8, 3000, microseconds(5)}, {}, {workers, place}};
}

Route route_of(const Fabric& fabric, Rank from, Rank to) {
  Route route;
  fabric.route(from, to, route);
  return route;
}

Names names_on(const Fabric& fabric, Rank from, Rank to) {
  Names names;
  for (const LinkId link : route_of(fabric, from, to).links) names.push_back(fabric.link(link).name);
  return names;
}

TEST_CASE("cards: a message leaves by the card of its sender and comes by that of its receiver") {
  const Fabric fabric = make_fabric(inside(CardPlace::beside));
  CHECK(fabric.hosts() == 2);
  CHECK(fabric.cards() == 8);
  CHECK(names_on(fabric, 5, 8) == Names{"host/0/card/2:up", "host/1/card/0:down"});
  CHECK(names_on(fabric, 8, 5) == Names{"host/1/card/0:up", "host/0/card/2:down"});
  CHECK(route_of(fabric, 5, 8).latency == microseconds(3 + 3));
  CHECK(names_on(fabric, 16, 15) == Names{"host/0/card/0:up", "host/1/card/3:down"});  // a server uses the first
  CHECK(names_on(fabric, 4, 5) == Names{"worker/4:onto_bus", "worker/5:off_bus"});
  for (Rank rank = 0; rank < 17; ++rank) {
    CHECK(fabric.card(rank) == (rank == 16 ? 0 : rank / 2));
    const std::vector<LinkId> own = fabric.nic_links(rank);
    REQUIRE(own.size() == 2);
    CHECK(fabric.link(own[0]).name ==
          "host/" + std::to_string(fabric.host(rank)) + "/card/" + std::to_string(fabric.card(rank) % 4) + ":up");
  }
}

TEST_CASE("cards on a switch, or on the bus: what a message crosses on the way, with the latency of the levels that it leaves") {
  const Fabric on_switch = make_fabric(inside(CardPlace::pcie_switch));
  CHECK(names_on(on_switch, 5, 8) == Names{"worker/5:onto_bus", "host/0/card/2:up", "host/1/card/0:down", "worker/8:off_bus"});
  CHECK(route_of(on_switch, 5, 8).latency == microseconds(3 + 3));
  const Fabric on_bus = make_fabric(inside(CardPlace::bus, 8));
  CHECK(on_bus.cards() == 2);
  CHECK(names_on(on_bus, 5, 8) == Names{"worker/5:onto_bus", "host/0/switch/1:up", "host/0/socket/0:up", "host/0:up", "host/1:down",
                                        "host/1/socket/0:down", "host/1/switch/0:down", "worker/8:off_bus"});
  CHECK(route_of(on_bus, 5, 8).latency == microseconds(3 + 3 + 2 * (1 + 5)));
  CHECK(names_on(on_bus, 16, 8).front() == "host/0:up");  // a server's memory is above all switches
  // The way back is the same one.
  for (const Fabric* fabric : {&on_switch, &on_bus}) {
    for (Rank from = 0; from < 17; ++from) {
      for (Rank to = 0; to < 17; ++to) {
        if (from == to) continue;
        const Route there = route_of(*fabric, from, to), back = route_of(*fabric, to, from);
        REQUIRE(there.links.size() == back.links.size());
        CHECK(there.latency == back.latency);
        for (std::size_t i = 0; i < there.links.size(); ++i)
          CHECK(fabric->reverse(there.links[i]) == back.links[back.links.size() - 1 - i]);
      }
    }
  }
}

TEST_CASE("cards on the bus: a worker alone on its host crosses its own way, too") {
  Placement placement;
  placement.workers = 2;
  placement.nics = equal_nics(2);
  placement.intra = Placement::Intra{60, microseconds(2), {}, {}, {}, {1, CardPlace::bus}};
  const Fabric fabric(Registry<TopologyEntry>::instance().at("star"), {}, std::move(placement), 100, Time());
  CHECK(names_on(fabric, 0, 1) == Names{"worker/0:onto_bus", "worker/0:up", "worker/1:down", "worker/1:off_bus"});
}

TEST_CASE("one card for all workers of a host equals a host without cards") {
  Placement::Intra one = inside(CardPlace::beside, 8), none = one;
  none.card = {};
  const Fabric with = make_fabric(one), without = make_fabric(none);
  REQUIRE(with.links() == without.links());
  for (LinkId id = 0; id < with.links(); ++id) CHECK(with.link(id).name == without.link(id).name);
}

TEST_CASE("rails: cards of one number hang on one switch; between numbers a message crosses the core") {
  Placement::Intra intra = inside(CardPlace::beside);
  const Fabric fabric = make_fabric(intra, "rails", {{"oversubscription", 2.0}});
  CHECK(names_on(fabric, 4, 12) == Names{"host/0/card/2:up", "host/1/card/2:down"});
  CHECK(names_on(fabric, 4, 8) == Names{"host/0/card/2:up", "rail/2:up", "rail/0:down", "host/1/card/0:down"});
  CHECK(route_of(fabric, 4, 8).latency == microseconds(3 + 7 + 7 + 3));
  // Each rail has two cards of 100 B/s.
  CHECK(fabric.bytes_per_second(route_of(fabric, 4, 8).links[1]) == 2 * 100 / 2.0);
  CHECK(fabric.facts().switches == 5);
  CHECK(fabric.facts().cables == 8 + 4);
  CHECK(fabric.racks() == std::vector<Rank>{0});
}

TEST_CASE("cards: impossible cards are refused") {
  CHECK_THROWS_AS(make_fabric(inside(CardPlace::pcie_switch, 3)), std::invalid_argument);
  CHECK_THROWS_AS(make_fabric(inside(CardPlace::bus, 0)), std::invalid_argument);
  Placement::Intra flat = inside(CardPlace::pcie_switch);
  flat.pcie_switch = flat.socket = {};
  CHECK_THROWS_AS(make_fabric(flat), std::invalid_argument);
}

/// NVLinks between the GPUs of a DGX-1 with V100, as `nvidia-smi topo -m` prints them (NVIDIA, DGX-1 with Tesla V100 system architecture,
/// WP-08437, figure 4).
constexpr int cube_mesh[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                                 {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1}, {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};

using Mesh = std::array<std::array<int, 8>, 8>;

/// Whether the links of the mesh are so many rings over all GPUs, each link in one of them. `at`: the end of the path that the current ring
/// has so far; `seen`: the GPUs on it.
bool decomposes(Mesh& left, int rings, int at, unsigned seen) {
  if (seen == 0xFF) {
    if (left[at][0] == 0) return false;
    --left[at][0], --left[0][at];
    const bool found = rings == 1 || decomposes(left, rings - 1, 0, 1);
    ++left[at][0], ++left[0][at];
    return found;
  }
  for (int next = 0; next < 8; ++next) {
    if (left[at][next] == 0 || (seen >> next & 1)) continue;
    --left[at][next], --left[next][at];
    const bool found = decomposes(left, rings, next, seen | 1u << next);
    ++left[at][next], ++left[next][at];
    if (found) return true;
  }
  return false;
}

TEST_CASE("machine dgx1: the cube mesh is three rings over all eight GPUs, so that a GPU has the sum of its six links in a ring") {
  Mesh mesh{};
  for (int a = 0; a < 8; ++a) {
    int links = 0;
    for (int b = 0; b < 8; ++b) {
      CHECK(cube_mesh[a][b] == cube_mesh[b][a]);
      links += mesh[a][b] = cube_mesh[a][b];
    }
    CHECK(links == 6);
  }
  CHECK(decomposes(mesh, 3, 0, 1));
}

}  // namespace
}  // namespace straggler::cards_test
