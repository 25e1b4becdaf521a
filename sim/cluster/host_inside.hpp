// The inside of hosts: each rank's links onto its bus and off it, switches and sockets above them, and NVLink beside them.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/rank.hpp"
#include "sim/cluster/topology.hpp"

namespace straggler {

/// Groups of `workers` neighbouring workers of a host; 0: there is no such level.
struct HostLevel {
  std::size_t workers = 0;
  double bytes_per_second = 0;
  Time latency;
};

/// Where a host's network cards sit: beside its inside (messages to other hosts cross nothing of it), each on the switch of its workers, or
/// on the bus above all switches.
enum class CardPlace : std::uint8_t { beside, pcie_switch, bus };

/// A link that several workers of a host share.
struct LevelLink {
  LinkId link = 0;
  std::uint32_t workers = 0;
};

/// Of each rank's own links, and of the levels above and beside them (Placement::Intra).
struct HostLevels {
  double bytes_per_second = 0;
  Time latency;
  HostLevel pcie_switch = {}, socket = {}, nvlink = {};
  CardPlace cards = CardPlace::beside;
};

/// Numbers its links from 0 in pairs, so that the reverse of link l is l ^ 1. Constant.
class HostInside {
 public:
  /// `host_of`: [ranks]; the first `workers` of them are workers. Throws std::invalid_argument on a bandwidth that is not above 0, a
  /// latency that is negative or beyond Time::limit(), a socket that is no whole number of switches.
  HostInside(const HostLevels& intra, const std::vector<std::uint32_t>& host_of, std::size_t workers);

  std::size_t links() const { return first_switch_[levels]; }
  double bytes_per_second(LinkId link) const;
  /// `rank_name` and `host_name` give the names of a rank and of its host.
  LinkDescription link(LinkId link, const std::function<std::string(Rank)>& rank_name,
                       const std::function<std::string(std::uint32_t)>& host_name) const;
  /// From one rank to another of its host; overwrites `out`.
  void route(Rank from, Rank to, Route& out) const;
  /// The route of a message to another host, from the rank to its card: appended to `out`. With the latency of the levels that it leaves.
  void to_card(Rank from, Route& out) const;
  /// The same from the card to the rank.
  void from_card(Rank to, Route& out) const;
  /// A rank's own links.
  std::vector<LinkId> own(Rank rank) const;
  /// The links up and down of the levels above a worker; empty for other ranks.
  std::vector<LevelLink> above(Rank rank) const;

 private:
  static constexpr std::size_t levels = 2;  // switches, sockets
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Group {
    std::uint32_t host = 0, number = 0;  // in its host
    std::uint32_t workers = 0;
  };
  const HostLevel& level(std::size_t which) const { return which == 0 ? intra_.pcie_switch : intra_.socket; }
  std::uint32_t group(std::size_t which, Rank rank) const { return group_of_[which].empty() ? none : group_of_[which][index_of(rank)]; }
  /// The attachment point of the ranks, or of the groups of that level: "switch/1", "socket/0" or "bus", in their host.
  std::string above_rank(Rank rank) const;
  std::string above_group(std::size_t which, std::size_t group) const;

  HostLevels intra_;
  std::vector<std::uint32_t> host_of_;                       // [ranks]
  std::size_t first_nvlink_ = 0;                             // link
  std::array<std::size_t, levels + 1> first_switch_{};       // first link, by level; the last: the number of links
  std::array<std::vector<std::uint32_t>, levels> group_of_;  // [ranks]; none: above it; empty: there is no such level
  std::array<std::vector<Group>, levels> groups_;
  std::vector<std::uint32_t> nvlink_of_;  // [ranks] a number in its host; none: in no group; empty: there is no NVLink
};

}  // namespace straggler
