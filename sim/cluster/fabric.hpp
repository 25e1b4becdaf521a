// The network as ranks see it: ranks live on hosts, hosts are the end points of a topology.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/rank.hpp"
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
  /// Between ranks of one host: each has a way onto the host's bus and one off it, with this bandwidth; `latency` is of the whole path.
  /// With `pcie_switch` the bus is that of a switch, which has a way up and one down; a message between two switches crosses both, and
  /// `latency` of that level comes on top. Several switches are attached to a `socket` likewise. Members of one `nvlink` group have ways of
  /// their own to each other. Ranks that are no workers sit above all switches.
  struct Intra {
    double bytes_per_second = 0;
    Time latency;
    Level pcie_switch = {}, socket = {}, nvlink = {};
  };
  std::size_t workers = 1, servers = 0, aggregators = 0;
  std::vector<std::uint32_t> host_of;  // [ranks], hosts; empty: rank r is alone on host r
  std::vector<Nic> nics;               // [hosts]
  std::optional<Intra> intra;          // none: inside a host messages cross no link and have no latency
  bool half_duplex = false;            // both directions of a cable are one link
};

/// Routes between ranks over one numbering of links: those of the topology (one a cable if half duplex), then two a rank for the
/// inside of hosts (rank r: onto the bus, off the bus), if hosts have several ranks and `intra` is given; behind them two a rank for
/// NVLink, and two for each switch and socket (up, down), where these are given. Constant.
class Fabric {
 public:
  /// Nodes are called worker/N, server/N and aggregator/N where each rank has a host of its own, else host/N (for a host without workers:
  /// by its first rank).
  /// `core`: bandwidth and latency of links between switches. Throws what TopologyEntry::make throws.
  Fabric(const TopologyEntry& entry, const Parameters& parameters, Placement placement, double core_bytes_per_second, Time core_latency);

  std::size_t ranks() const;
  std::size_t workers() const;
  std::size_t hosts() const;
  std::uint32_t host(Rank rank) const;
  /// worker/N, server/N or aggregator/N.
  std::string name(Rank rank) const;

  std::size_t links() const;
  LinkDescription link(LinkId id) const;
  /// The other direction of the cable; itself if half duplex.
  LinkId reverse(LinkId id) const;
  double bytes_per_second(LinkId id) const;
  /// As Topology::route; no links and no latency between ranks of one host without `intra`. from != to.
  void route(Rank from, Rank to, Route& out) const;
  /// The rank's own two links: its host's NIC. For faults.
  std::vector<LinkId> nic_links(Rank rank) const;
  /// The rank's ways inside its host: onto the bus and off it, and those of NVLink; empty without `intra`.
  std::vector<LinkId> inside_links(Rank rank) const;
  bool is_inside(LinkId link) const;
  /// [racks]: the first worker of each, where the topology has racks (Topology::rack).
  std::vector<Rank> racks() const;
  TopologyFacts facts() const;
  const Topology& topology() const;

 private:
  struct Inside;
  std::shared_ptr<const Inside> inside_;
};

/// Adds every link of `fabric` to an empty network, so that both number them alike. Throws std::logic_error if it was not empty.
void build_links(const Fabric& fabric, Network& network);

/// Writes hosts, switches and cables as GraphML (`.graphml`) or DOT (`.dot`): what topology `file` reads back.
/// Throws std::invalid_argument on another ending, std::runtime_error if it cannot be written.
void write_graph(const Topology& topology, const std::string& path);

}  // namespace straggler
