#include "sim/cluster/fault_units.hpp"

#include <algorithm>
#include <charconv>

namespace straggler {

namespace {

std::string without_direction(std::string link) {
  for (const std::string_view direction : {":up", ":down"})
    if (link.ends_with(direction)) link.resize(link.size() - direction.size());
  return link;
}

/// Of "rack/12" with `kind` "rack": 12.
std::optional<std::size_t> number_after(std::string_view name, std::string_view kind) {
  if (!name.starts_with(kind) || name.size() < kind.size() + 2 || name[kind.size()] != '/') return std::nullopt;
  const char *const begin = name.data() + kind.size() + 1, *const end = name.data() + name.size();
  std::size_t number = 0;
  const auto read = std::from_chars(begin, end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace

FaultUnits::FaultUnits(const Fabric& fabric, std::size_t servers, std::size_t replicas)
    : fabric_(fabric), servers_(servers), replicas_(replicas) {
  const Rank workers = static_cast<Rank>(fabric.workers());
  for (Rank worker = 0; worker < workers; ++worker)
    if (worker == 0 || fabric.host(worker) != fabric.host(worker - 1)) hosts_.push_back(worker);
  hosts_.push_back(workers);
  for (std::size_t server = 0; server < servers; ++server)
    servers_on_hosts_ |= fabric.host(workers + static_cast<Rank>(server)) <= fabric.host(workers - 1);
  if (!fabric.topology().has_racks()) return;
  racks_ = fabric.racks();
  racks_.push_back(workers);
}

std::size_t FaultUnits::count(UnitKind kind) const {
  switch (kind) {
    case UnitKind::worker:
      return fabric_.workers();
    case UnitKind::host:
      return hosts_.size() - 1;
    case UnitKind::rack:
      return racks_.empty() ? 0 : racks_.size() - 1;
    case UnitKind::server:
      return servers_ * replicas_;
    case UnitKind::link:
      return fabric_.topology().links() / 2;
    case UnitKind::all:
      return 1;
  }
  return 0;
}

std::string FaultUnits::name(FaultUnit unit) const {
  switch (unit.kind) {
    case UnitKind::server: {
      const std::string server = "server/" + std::to_string(unit.number / replicas_);
      return replicas_ > 1 ? server + "/replica/" + std::to_string(unit.number % replicas_) : server;
    }
    case UnitKind::link:
      return "link/" + without_direction(fabric_.link(links(unit).front()).name);
    case UnitKind::all:
      return "all";
    default:
      return std::string(unit_choice.name_of(unit.kind)) + "/" + std::to_string(unit.number);
  }
}

std::optional<FaultUnit> FaultUnits::find(std::string_view name) const {
  if (name == "all") return FaultUnit{UnitKind::all, 0};
  for (const UnitKind kind : {UnitKind::worker, UnitKind::host, UnitKind::rack, UnitKind::server})
    if (const auto number = number_after(name, unit_choice.name_of(kind))) {
      const std::size_t unit = kind == UnitKind::server ? *number * replicas_ : *number;
      return unit < count(kind) ? std::optional(FaultUnit{kind, static_cast<std::uint32_t>(unit)}) : std::nullopt;
    }
  if (replicas_ > 1)
    for (std::uint32_t unit = 0; unit < count(UnitKind::server); ++unit)
      if (this->name({UnitKind::server, unit}) == name) return FaultUnit{UnitKind::server, unit};
  const std::string cable = name.starts_with("link/") ? std::string(name) : "link/" + without_direction(std::string(name));
  if (!name.starts_with("link/") && cable.size() == name.size() + 5) return std::nullopt;  // it has no direction
  for (std::uint32_t unit = 0; unit < count(UnitKind::link); ++unit)
    if (this->name({UnitKind::link, unit}) == cable) return FaultUnit{UnitKind::link, unit};
  return std::nullopt;
}

RankSpan FaultUnits::workers(FaultUnit unit) const {
  const auto place = static_cast<std::size_t>(unit.number);
  switch (unit.kind) {
    case UnitKind::worker:
      return {static_cast<Rank>(unit.number), static_cast<Rank>(unit.number) + 1};
    case UnitKind::host:
      return {hosts_[place], hosts_[place + 1]};
    case UnitKind::rack:
      return {racks_[place], racks_[place + 1]};
    case UnitKind::all:
      return {0, static_cast<Rank>(fabric_.workers())};
    case UnitKind::server:
    case UnitKind::link:
      break;
  }
  return {};
}

bool FaultUnits::take_servers(UnitKind kind) const {
  return kind == UnitKind::server || (servers_on_hosts_ && (kind == UnitKind::host || kind == UnitKind::rack));
}

std::vector<std::uint32_t> FaultUnits::servers(FaultUnit unit) const {
  if (!take_servers(unit.kind)) return {};
  if (unit.kind == UnitKind::server) return {static_cast<std::uint32_t>(unit.number / replicas_)};
  const RankSpan workers = this->workers(unit);
  const std::uint32_t first = fabric_.host(workers.begin), last = fabric_.host(workers.end - 1);
  std::vector<std::uint32_t> out;
  for (std::uint32_t server = 0; server < servers_; ++server) {
    const std::uint32_t host = fabric_.host(static_cast<Rank>(fabric_.workers() + server));
    if (host >= first && host <= last) out.push_back(server);
  }
  return out;
}

std::vector<LinkId> FaultUnits::links(FaultUnit unit) const {
  if (unit.kind == UnitKind::link) {
    const bool half_duplex = fabric_.reverse(0) == 0;
    const auto up = static_cast<LinkId>(half_duplex ? unit.number : 2 * unit.number);
    return half_duplex ? std::vector<LinkId>{up} : std::vector<LinkId>{up, fabric_.reverse(up)};
  }
  const auto own = static_cast<Rank>(fabric_.workers() + unit.number / replicas_);
  const RankSpan ranks = unit.kind == UnitKind::server ? RankSpan{own, own + 1} : workers(unit);
  std::vector<LinkId> out;
  for (Rank rank = ranks.begin; rank < ranks.end; ++rank)
    for (const LinkId link : fabric_.nic_links(rank)) out.push_back(link);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace straggler
