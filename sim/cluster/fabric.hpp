// The network as ranks see it: ranks are on hosts, hosts are the end points of a topology.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/rank.hpp"
#include "sim/cluster/host_inside.hpp"
#include "sim/cluster/topology.hpp"

namespace straggler {

/// The host of each rank. Ranks: workers 0 .. p-1, then servers, then aggregators.
struct Placement {
  /// Groups of `workers` neighbouring workers of a host; 0: there is no such level.
  struct Level {
    std::size_t workers = 0;
    double bytes_per_second = 0;
    Time latency;
  };
  /// Between ranks of one host: each has a link onto the host's bus and one off it, with this bandwidth; `latency` is of the whole path.
  /// With `pcie_switch` the bus is that of a switch, which has an uplink and a downlink; a message between two switches crosses both, and
  /// that level's `latency` is added. Several switches are attached to a `socket` likewise. Members of one `nvlink` group have separate
  /// links to each other. Ranks that are no workers sit above all switches.
  ///
  /// Each group of `card.workers` neighbours has a network card of its own, like the host's `nics`; 0: the host has one. A rank's messages
  /// leave and arrive by its card; ranks that are no workers use the first. If a card sits on a switch or on the bus, messages of workers
  /// cross the links between, with the latency of the levels that they leave. A card on a switch serves only that switch's workers.
  struct Cards {
    std::size_t workers = 0;
    CardPlace place = CardPlace::beside;
  };
  struct Intra {
    double bytes_per_second = 0;
    Time latency;
    Level pcie_switch = {}, socket = {}, nvlink = {};
    Cards card = {};
  };
  std::size_t workers = 1, servers = 0, aggregators = 0;
  std::vector<std::uint32_t> host_of;  // [ranks], hosts; empty: rank r is alone on host r
  std::vector<Nic> nics;               // [hosts]
  std::optional<Intra> intra;          // none: messages inside a host cross no link and have no latency
  bool half_duplex = false;            // both directions of a cable are one link
};

/// Routes between ranks over one numbering of links: those of the topology (one per cable if half duplex), then two per rank for the inside
/// of hosts (rank r: onto the bus, off the bus), if hosts have several ranks and `intra` is given; then two per rank for NVLink, and two
/// per switch and socket (up, down), where given. The topology's end points are network cards: one per host, or several. Constant.
class Fabric {
 public:
  /// Nodes are called worker/N, server/N and aggregator/N where each rank has a host of its own, otherwise host/N (a host without workers:
  /// by its first rank); several cards of a host NODE/card/K.
  /// `core`: bandwidth and latency of links between switches. Throws what TopologyEntry::make throws.
  Fabric(const TopologyEntry& entry, const Parameters& parameters, Placement placement, double core_bytes_per_second, Time core_latency);

  std::size_t ranks() const;
  std::size_t workers() const;
  std::size_t hosts() const;
  std::uint32_t host(Rank rank) const;
  /// Network cards, the end points of the topology: of host 0, of host 1, and so on.
  std::size_t cards() const;
  std::uint32_t card(Rank rank) const;
  /// worker/N, server/N or aggregator/N.
  std::string name(Rank rank) const;

  std::size_t links() const;
  LinkDescription link(LinkId id) const;
  /// The other direction of the cable; itself if half duplex.
  LinkId reverse(LinkId id) const;
  double bytes_per_second(LinkId id) const;
  /// As Topology::route; no links and no latency between ranks of one host without `intra`. from != to.
  void route(Rank from, Rank to, Route& out) const;
  /// The rank's own two links: its card. For faults.
  std::vector<LinkId> nic_links(Rank rank) const;
  /// The rank's links inside its host: onto the bus and off it, and those of NVLink; empty without `intra`.
  std::vector<LinkId> inside_links(Rank rank) const;
  /// The links of the switch and of the socket above it; empty for ranks that are no workers, and without these levels.
  std::vector<LevelLink> level_links(Rank rank) const;
  bool is_inside(LinkId link) const;
  /// [racks]: the first worker of each, where the topology has racks (Topology::rack).
  std::vector<Rank> racks() const;
  TopologyFacts facts() const;
  const Topology& topology() const;
  /// The topology, if rank r is its end point r and its routes are those of ranks; null otherwise.
  const Topology* direct() const;

 private:
  struct Inside;
  std::shared_ptr<const Inside> inside_;
};

/// Adds every link of `fabric` to an empty network, so that both number them alike. Throws std::logic_error if it was not empty.
void build_links(const Fabric& fabric, Network& network);

/// Writes hosts, switches and cables as GraphML (`.graphml`) or DOT (`.dot`); topology `file` reads it back. Throws std::invalid_argument
/// on another extension, std::runtime_error if it cannot be written.
void write_graph(const Topology& topology, const std::string& path);

}  // namespace straggler
