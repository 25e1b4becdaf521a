// Units that fail, and what fails with them.
#include <doctest/doctest.h>

#include "sim/base/registry.hpp"
#include "sim/cluster/fault_units.hpp"

using namespace straggler;

namespace fault_units_test {
namespace {

/// Eight workers on four hosts of two, then two servers: on hosts of their own, or on the first host.
Fabric fabric(const std::string& topology, const Parameters& parameters, bool servers_apart = true, bool half_duplex = false) {
  Placement placement;
  placement.workers = 8;
  placement.servers = 2;
  placement.host_of = {0, 0, 1, 1, 2, 2, 3, 3};
  for (const std::uint32_t host : servers_apart ? std::vector<std::uint32_t>{4, 5} : std::vector<std::uint32_t>{0, 0})
    placement.host_of.push_back(host);
  placement.nics.assign(servers_apart ? 6 : 4, Nic{1e9, 1e9, Time()});
  placement.half_duplex = half_duplex;
  return {Registry<TopologyEntry>::instance().at(topology), parameters, placement, 1e9, Time()};
}

}  // namespace

TEST_CASE("a host takes its workers with it, a rack its hosts, and all is one unit") {
  const Fabric racks = fabric("two_level", {{"racks", std::int64_t{2}}}, false);
  const FaultUnits units(racks, 2, 1);
  CHECK(units.count(UnitKind::worker) == 8);
  CHECK(units.count(UnitKind::host) == 4);
  CHECK(units.count(UnitKind::rack) == 2);
  CHECK(units.count(UnitKind::server) == 2);
  CHECK(units.count(UnitKind::all) == 1);
  CHECK(units.count(UnitKind::link) == 4 + 2);  // cables: one per host, one per rack
  CHECK(units.workers({UnitKind::worker, 3}) == RankSpan{3, 4});
  CHECK(units.workers({UnitKind::host, 1}) == RankSpan{2, 4});
  CHECK(units.workers({UnitKind::rack, 1}) == RankSpan{4, 8});
  CHECK(units.workers({UnitKind::all, 0}) == RankSpan{0, 8});
  CHECK(units.workers({UnitKind::link, 0}).empty());
  // Servers live on the first host.
  CHECK(units.servers({UnitKind::host, 0}) == std::vector<std::uint32_t>{0, 1});
  CHECK(units.servers({UnitKind::rack, 0}) == std::vector<std::uint32_t>{0, 1});
  CHECK(units.servers({UnitKind::host, 1}).empty());
  CHECK(units.servers({UnitKind::worker, 0}).empty());
}

TEST_CASE("links of a unit are the cards of its hosts, each once; of a cable both directions") {
  const Fabric star = fabric("star", {});
  const FaultUnits units(star, 2, 2);
  CHECK(units.links({UnitKind::host, 1}) == std::vector<LinkId>{2, 3});
  CHECK(units.links({UnitKind::worker, 3}) == std::vector<LinkId>{2, 3});
  CHECK(units.links({UnitKind::all, 0}) == std::vector<LinkId>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(units.links({UnitKind::server, 2}) == std::vector<LinkId>{10, 11});  // both replicas of server 1 stand behind its link
  CHECK(units.links({UnitKind::server, 3}) == std::vector<LinkId>{10, 11});
  CHECK(units.links({UnitKind::link, 5}) == std::vector<LinkId>{10, 11});
  const Fabric half = fabric("star", {}, true, true);
  CHECK(FaultUnits(half, 2, 1).links({UnitKind::link, 5}) == std::vector<LinkId>{5});
  CHECK(FaultUnits(half, 2, 1).count(UnitKind::link) == 6);
}

TEST_CASE("topologies without racks have no units of that kind") {
  for (const std::string kind : {"star", "ring", "full", "wan"}) {
    CAPTURE(kind);
    CHECK(FaultUnits(fabric(kind, {}), 0, 1).count(UnitKind::rack) == 0);
  }
  CHECK(FaultUnits(fabric("two_level", {{"racks", std::int64_t{1}}}), 0, 1).count(UnitKind::rack) == 1);
}

TEST_CASE("a unit is found by its name, and has one") {
  const Fabric star = fabric("star", {});
  const FaultUnits units(star, 2, 2);
  for (const UnitKind kind : {UnitKind::worker, UnitKind::host, UnitKind::server, UnitKind::link, UnitKind::all})
    for (std::uint32_t unit = 0; unit < units.count(kind); ++unit) {
      CAPTURE(units.name({kind, unit}));
      CHECK(units.find(units.name({kind, unit})) == FaultUnit{kind, unit});
    }
  CHECK(units.name({UnitKind::server, 3}) == "server/1/replica/1");
  CHECK(FaultUnits(star, 2, 1).name({UnitKind::server, 1}) == "server/1");
  CHECK(units.find("server/1") == FaultUnit{UnitKind::server, 2});  // its first replica
  CHECK(units.find("host/1:up") == FaultUnit{UnitKind::link, 1});
  CHECK(units.find("host/1:down") == FaultUnit{UnitKind::link, 1});
  for (const std::string none :
       {"", "worker", "worker/", "worker/8", "worker/-1", "worker/1x", "host/9", "rack/0", "link/none", "host/1:left"}) {
    CAPTURE(none);
    CHECK(!units.find(none));
  }
}

}  // namespace fault_units_test
