#include "sim/cluster/host_inside.hpp"

#include <limits>
#include <stdexcept>

namespace straggler {
namespace {

void check(double bytes_per_second, Time latency, const std::string& which) {
  if (!(bytes_per_second > 0 && bytes_per_second <= std::numeric_limits<double>::max()))
    throw std::invalid_argument(which + ": bandwidth is " + std::to_string(bytes_per_second) + " B/s; it must be above 0");
  if (latency < Time() || latency > Time::limit())
    throw std::invalid_argument(which + ": latency is " + std::to_string(latency.seconds()) +
                                " s; it must be at least 0, at most 100 days");
}

void check(const HostLevel& level, const std::string& which) {
  if (level.workers > 0) check(level.bytes_per_second, level.latency, which);
}

}  // namespace

HostInside::HostInside(const HostLevels& intra, const std::vector<std::uint32_t>& host_of, std::size_t workers)
    : intra_(intra), host_of_(host_of) {
  const std::size_t ranks = host_of.size();
  check(intra.bytes_per_second, intra.latency, "intra");
  check(intra.pcie_switch, "intra.switch");
  check(intra.socket, "intra.socket");
  check(intra.nvlink, "intra.nvlink");
  if (intra.pcie_switch.workers > 0 && intra.socket.workers % intra.pcie_switch.workers != 0)
    throw std::invalid_argument("intra.socket: workers is " + std::to_string(intra.socket.workers) +
                                ", which is not a multiple of the switches' " + std::to_string(intra.pcie_switch.workers));
  std::vector<std::size_t> seat(workers);  // its number among the workers of its host
  std::vector<std::size_t> taken;          // [hosts]
  for (std::size_t rank = 0; rank < workers; ++rank) {
    if (host_of[rank] >= taken.size()) taken.resize(host_of[rank] + 1);
    seat[rank] = taken[host_of[rank]]++;
  }
  std::size_t next = 2 * ranks;
  first_nvlink_ = next;
  if (intra.nvlink.workers > 0) {
    nvlink_of_.assign(ranks, none);
    for (std::size_t rank = 0; rank < workers; ++rank) nvlink_of_[rank] = static_cast<std::uint32_t>(seat[rank] / intra.nvlink.workers);
    next += 2 * ranks;
  }
  for (std::size_t which = 0; which < levels; ++which) {
    first_switch_[which] = next;
    const std::size_t each = level(which).workers;
    if (each == 0) continue;
    std::vector<std::uint32_t> first(taken.size());  // [hosts]
    for (std::size_t host = 0; host < taken.size(); ++host) {
      first[host] = static_cast<std::uint32_t>(groups_[which].size());
      for (std::size_t number = 0; number * each < taken[host]; ++number)
        groups_[which].push_back({static_cast<std::uint32_t>(host), static_cast<std::uint32_t>(number), 0});
    }
    group_of_[which].assign(ranks, none);
    for (std::size_t rank = 0; rank < workers; ++rank) {
      group_of_[which][rank] = first[host_of[rank]] + static_cast<std::uint32_t>(seat[rank] / each);
      ++groups_[which][group_of_[which][rank]].workers;
    }
    next += 2 * groups_[which].size();
  }
  first_switch_[levels] = next;
}

double HostInside::bytes_per_second(LinkId link) const {
  if (link < first_nvlink_) return intra_.bytes_per_second;
  if (link < first_switch_[0]) return intra_.nvlink.bytes_per_second;
  return level(link < first_switch_[1] ? 0 : 1).bytes_per_second;
}

std::string HostInside::above_rank(Rank rank) const {
  for (std::size_t which = 0; which < levels; ++which)
    if (const std::uint32_t of = group(which, rank); of != none)
      return (which == 0 ? "switch/" : "socket/") + std::to_string(groups_[which][of].number);
  return "bus";
}

std::string HostInside::above_group(std::size_t which, std::size_t group) const {
  const std::size_t socket = intra_.socket.workers;
  if (which == 1 || socket == 0) return "bus";
  return "socket/" + std::to_string(groups_[which][group].number * intra_.pcie_switch.workers / socket);
}

LinkDescription HostInside::link(LinkId link, const std::function<std::string(Rank)>& rank_name,
                                 const std::function<std::string(std::uint32_t)>& host_name) const {
  const double rate = bytes_per_second(link);
  const bool onto = link % 2 == 0;
  if (link < first_switch_[0]) {
    const bool nvlink = link >= first_nvlink_;
    const auto rank = static_cast<Rank>((link - (nvlink ? first_nvlink_ : 0)) / 2);
    const std::string end = rank_name(rank), host = host_name(host_of_[index_of(rank)]);
    const std::string bus = host + "/" + (nvlink ? "nvlink" : above_rank(rank));
    const char* const way = nvlink ? (onto ? ":onto_nvlink" : ":off_nvlink") : (onto ? ":onto_bus" : ":off_bus");
    // The latency of the whole path, once.
    const Time latency = onto ? (nvlink ? intra_.nvlink.latency : intra_.latency) : Time();
    return onto ? LinkDescription{end + way, end, bus, rate, latency} : LinkDescription{end + way, bus, end, rate, latency};
  }
  const std::size_t which = link < first_switch_[1] ? 0 : 1, number = (link - first_switch_[which]) / 2;
  const Group& of = groups_[which][number];
  const std::string host = host_name(of.host) + "/";
  const std::string below = host + (which == 0 ? "switch/" : "socket/") + std::to_string(of.number),
                    above = host + above_group(which, number);
  if (onto) return {below + ":up", below, above, rate, level(which).latency};
  return {below + ":down", above, below, rate, Time()};
}

void HostInside::route(Rank from, Rank to, Route& out) const {
  out.links.clear();
  if (!nvlink_of_.empty() && nvlink_of_[index_of(from)] != none && nvlink_of_[index_of(from)] == nvlink_of_[index_of(to)]) {
    out.links.push_back(static_cast<LinkId>(first_nvlink_ + 2 * index_of(from)));
    out.links.push_back(static_cast<LinkId>(first_nvlink_ + 2 * index_of(to) + 1));
    out.latency = intra_.nvlink.latency;
    return;
  }
  out.latency = intra_.latency;
  out.links.push_back(static_cast<LinkId>(2 * index_of(from)));
  std::array<LinkId, levels> down{};
  std::size_t downs = 0;
  for (std::size_t which = 0; which < levels; ++which) {
    const std::uint32_t here = group(which, from), there = group(which, to);
    if (here == there) continue;  // they meet below it, or there is no such level
    if (here != none) out.links.push_back(static_cast<LinkId>(first_switch_[which] + 2 * std::size_t{here}));
    if (there != none) down[downs++] = static_cast<LinkId>(first_switch_[which] + 2 * std::size_t{there} + 1);
    out.latency = out.latency + level(which).latency;
  }
  while (downs > 0) out.links.push_back(down[--downs]);
  out.links.push_back(static_cast<LinkId>(2 * index_of(to) + 1));
}

void HostInside::to_card(Rank from, Route& out) const {
  if (intra_.cards == CardPlace::beside) return;
  out.links.push_back(static_cast<LinkId>(2 * index_of(from)));
  for (std::size_t which = 0; which < levels && intra_.cards == CardPlace::bus; ++which) {
    const std::uint32_t here = group(which, from);
    if (here == none) continue;
    out.links.push_back(static_cast<LinkId>(first_switch_[which] + 2 * std::size_t{here}));
    out.latency += level(which).latency;
  }
}

void HostInside::from_card(Rank to, Route& out) const {
  if (intra_.cards == CardPlace::beside) return;
  for (std::size_t which = levels; which-- > 0 && intra_.cards == CardPlace::bus;) {
    const std::uint32_t there = group(which, to);
    if (there == none) continue;
    out.links.push_back(static_cast<LinkId>(first_switch_[which] + 2 * std::size_t{there} + 1));
    out.latency += level(which).latency;
  }
  out.links.push_back(static_cast<LinkId>(2 * index_of(to) + 1));
}

std::vector<LinkId> HostInside::own(Rank rank) const {
  std::vector<LinkId> out;
  for (const std::size_t first : {std::size_t{0}, first_nvlink_}) {
    if (first > 0 && nvlink_of_.empty()) break;
    out.push_back(static_cast<LinkId>(first + 2 * index_of(rank)));
    out.push_back(static_cast<LinkId>(first + 2 * index_of(rank) + 1));
  }
  return out;
}

std::vector<LevelLink> HostInside::above(Rank rank) const {
  std::vector<LevelLink> out;
  for (std::size_t which = 0; which < levels; ++which) {
    const std::uint32_t of = group(which, rank);
    if (of == none) continue;
    for (const std::size_t way : {0, 1})
      out.push_back({static_cast<LinkId>(first_switch_[which] + 2 * std::size_t{of} + way), groups_[which][of].workers});
  }
  return out;
}

}  // namespace straggler
