// What can fail: the units of a cluster, and which workers, servers and links belong to each.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/choice_table.hpp"
#include "sim/cluster/fabric.hpp"

namespace straggler {

/// link: a cable, both directions. all: the job as one unit.
enum class UnitKind : std::uint8_t { worker, host, rack, server, link, all };
inline constexpr ChoiceTable<UnitKind> unit_choice("of", {{UnitKind::worker, "worker"},
                                                          {UnitKind::host, "host"},
                                                          {UnitKind::rack, "rack"},
                                                          {UnitKind::server, "server"},
                                                          {UnitKind::link, "link"},
                                                          {UnitKind::all, "all"}});

/// Ranks from `begin` up to `end`, without it.
struct RankSpan {
  Rank begin = 0, end = 0;
  bool empty() const { return begin == end; }
  bool operator==(const RankSpan&) const = default;
};

struct FaultUnit {
  UnitKind kind = UnitKind::worker;
  std::uint32_t number = 0;  // among those of its kind
  bool operator==(const FaultUnit&) const = default;
};

/// Hosts, racks and cables are numbered as the fabric numbers them; hosts and racks without workers are no units.
class FaultUnits {
 public:
  /// `fabric` outlives this. Each server has so many replicas, all of which are units: replica r of server s is number s · replicas + r.
  FaultUnits(const Fabric& fabric, std::size_t servers, std::size_t replicas);

  /// 0: the cluster has none of that kind.
  std::size_t count(UnitKind kind) const;
  /// worker/3, host/0, rack/1, server/0 (of several replicas server/0/replica/1), all; of the cable of links NAME:up and NAME:down
  /// link/NAME.
  std::string name(FaultUnit unit) const;
  /// None: no unit has that name. Each direction of a cable names it, too, and server/0 its first replica.
  std::optional<FaultUnit> find(std::string_view name) const;
  /// That fail with it.
  RankSpan workers(FaultUnit unit) const;
  /// Servers of which a replica fails with it: its own, or those that live on the hosts of its workers.
  std::vector<std::uint32_t> servers(FaultUnit unit) const;
  /// Whether servers() has any, of some unit of that kind.
  bool take_servers(UnitKind kind) const;
  /// Both directions of a cable; of a worker, a host, a rack, a server or all: the network cards of their hosts. Each once.
  std::vector<LinkId> links(FaultUnit unit) const;
  std::size_t replicas() const { return replicas_; }

 private:
  const Fabric& fabric_;
  std::size_t servers_, replicas_;
  bool servers_on_hosts_ = false;    // of workers
  std::vector<Rank> hosts_, racks_;  // [units + 1]: the first worker of each, then the number of workers
};

}  // namespace straggler
