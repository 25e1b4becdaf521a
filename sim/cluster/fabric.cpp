#include "sim/cluster/fabric.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#include "sim/base/suggest.hpp"
#include "sim/cluster/host_inside.hpp"

namespace straggler {
namespace {

std::string name_of(std::size_t rank, std::size_t workers, std::size_t servers) {
  if (rank < workers) return "worker/" + std::to_string(rank);
  rank -= workers;
  return rank < servers ? "server/" + std::to_string(rank) : "aggregator/" + std::to_string(rank - servers);
}

/// Nodes where every rank has a host of its own. Holds nothing for each.
std::function<std::string(std::size_t)> names_of_ranks(std::size_t workers, std::size_t servers) {
  return [workers, servers](std::size_t rank) { return name_of(rank, workers, servers); };
}

/// Nodes where ranks share hosts. A host that carries no worker is named after the first of its ranks.
std::function<std::string(std::size_t)> names_of_hosts(const Placement& placement) {
  constexpr std::uint32_t free = ~std::uint32_t{0}, host = free - 1;
  std::vector<std::uint32_t> first(placement.nics.size(), free);
  bool dedicated = false;
  for (std::size_t rank = 0; rank < placement.host_of.size(); ++rank) {
    std::uint32_t& name = first[placement.host_of[rank]];
    if (rank < placement.workers) name = host;
    if (name != free) continue;
    name = static_cast<std::uint32_t>(rank);
    dedicated = true;
  }
  if (!dedicated) return [](std::size_t index) { return "host/" + std::to_string(index); };
  return [first = std::move(first), workers = placement.workers, servers = placement.servers](std::size_t index) {
    return first[index] >= host ? "host/" + std::to_string(index) : name_of(first[index], workers, servers);
  };
}

void check(const Placement& placement) {
  const std::size_t ranks = placement.workers + placement.servers + placement.aggregators;
  if (ranks == 0) throw std::invalid_argument("there are neither workers nor servers; a network needs at least one of them");
  if (placement.host_of.empty() && placement.nics.size() != ranks)
    throw std::invalid_argument("there are " + std::to_string(ranks) + " workers and servers but " + std::to_string(placement.nics.size()) +
                                " hosts; give each a host, or say who shares one");
  if (placement.host_of.empty()) return;
  if (placement.host_of.size() != ranks)
    throw std::invalid_argument("hosts are given for " + std::to_string(placement.host_of.size()) + " workers and servers, but there are " +
                                std::to_string(ranks) + "; give one for each");
  for (const std::uint32_t host : placement.host_of)
    if (host >= placement.nics.size())
      throw std::invalid_argument("there is no host " + std::to_string(host) + "; there are " + std::to_string(placement.nics.size()));
}

HostLevels levels_of(const Placement::Intra& intra) {
  const auto level = [](const Placement::Level& of) { return HostLevel{of.workers, of.bytes_per_second, of.latency}; };
  return {intra.bytes_per_second, intra.latency, level(intra.pcie_switch), level(intra.socket), level(intra.nvlink)};
}

/// One link has one bandwidth and one latency.
void check_half_duplex(const Topology& topology) {
  for (std::size_t id = 0; id < topology.links(); id += 2) {
    const LinkDescription there = topology.link(static_cast<LinkId>(id)), back = topology.link(static_cast<LinkId>(id + 1));
    if (there.bytes_per_second != back.bytes_per_second || there.latency != back.latency)
      throw std::invalid_argument("half duplex: " + in_quotes(there.name) + " and " + in_quotes(back.name) +
                                  " differ in bandwidth or latency; a cable that both directions share has one of each");
  }
}

}  // namespace

struct Fabric::Inside {
  std::unique_ptr<const Topology> topology;
  std::size_t workers = 0, servers = 0, ranks = 0;
  std::vector<std::uint32_t> host_of;
  std::optional<HostInside> intra;  // only if some ranks share a host
  bool half_duplex = false;
  bool direct = false;    // the topology's routes as they are
  std::size_t buses = 0;  // the first link of a bus

  std::uint32_t host(Rank rank) const { return host_of.empty() ? static_cast<std::uint32_t>(rank) : host_of[index_of(rank)]; }
  bool is_rank(Rank rank) const { return rank >= 0 && index_of(rank) < ranks; }
};

Fabric::Fabric(const TopologyEntry& entry, const Parameters& parameters, Placement placement, double core_bytes_per_second,
               Time core_latency) {
  check(placement);
  auto inside = std::make_shared<Inside>();
  inside->workers = placement.workers;
  inside->servers = placement.servers;
  inside->ranks = placement.workers + placement.servers + placement.aggregators;
  const std::size_t hosts = placement.nics.size();
  TopologyRequest request;
  request.name = placement.host_of.empty() ? names_of_ranks(placement.workers, placement.servers) : names_of_hosts(placement);
  request.nics = std::move(placement.nics);
  request.bytes_per_second = core_bytes_per_second;
  request.latency = core_latency;
  inside->topology = entry.make(complete(entry.parameters, parameters), std::move(request));
  inside->host_of = std::move(placement.host_of);
  inside->half_duplex = placement.half_duplex;
  if (inside->half_duplex) check_half_duplex(*inside->topology);
  inside->direct = inside->host_of.empty() && !inside->half_duplex;
  inside->buses = inside->topology->links() / (inside->half_duplex ? 2 : 1);
  std::vector<bool> taken(inside->host_of.empty() ? 0 : hosts, false);
  bool shared = false;
  for (const std::uint32_t host : inside->host_of) {
    shared = shared || taken[host];
    taken[host] = true;
  }
  if (placement.intra) {
    // Checked where nobody shares a host, too.
    HostInside intra(levels_of(*placement.intra), inside->host_of, inside->host_of.empty() ? 0 : placement.workers);
    if (shared) inside->intra = std::move(intra);
  }
  inside_ = std::move(inside);
  if (links() > std::numeric_limits<LinkId>::max())
    throw std::invalid_argument(std::to_string(links()) + " links are too many; at most 2^32 - 1 can be numbered");
}

std::size_t Fabric::ranks() const { return inside_->ranks; }
std::size_t Fabric::workers() const { return inside_->workers; }
std::size_t Fabric::hosts() const { return inside_->topology->endpoints(); }
std::uint32_t Fabric::host(Rank rank) const { return inside_->host(rank); }

std::string Fabric::name(Rank rank) const { return name_of(index_of(rank), inside_->workers, inside_->servers); }

std::size_t Fabric::links() const { return inside_->buses + (inside_->intra ? inside_->intra->links() : 0); }

LinkDescription Fabric::link(LinkId id) const {
  const Inside& in = *inside_;
  if (id >= links()) throw std::out_of_range("there is no link " + std::to_string(id) + "; there are " + std::to_string(links()));
  if (id < in.buses) {
    LinkDescription found = in.topology->link(in.half_duplex ? 2 * id : id);
    if (in.half_duplex && found.name.ends_with(":up")) found.name.resize(found.name.size() - 3);
    return found;
  }
  return in.intra->link(
      static_cast<LinkId>(id - in.buses), [this](Rank rank) { return name(rank); },
      [&in](std::uint32_t host) { return in.topology->name(host); });
}

LinkId Fabric::reverse(LinkId id) const {
  const Inside& in = *inside_;
  if (id < in.buses) return in.half_duplex ? id : id ^ 1;
  return static_cast<LinkId>(in.buses + ((id - in.buses) ^ 1));
}

double Fabric::bytes_per_second(LinkId id) const {
  const Inside& in = *inside_;
  if (id >= links()) throw std::out_of_range("there is no link " + std::to_string(id) + "; there are " + std::to_string(links()));
  if (id >= in.buses) return in.intra->bytes_per_second(static_cast<LinkId>(id - in.buses));
  return in.topology->bytes_per_second(in.half_duplex ? 2 * id : id);
}

void Fabric::route(Rank from, Rank to, Route& out) const {
  const Inside& in = *inside_;
  if (in.direct) return in.topology->route(in.host(from), in.host(to), out);
  if (from == to || !in.is_rank(from) || !in.is_rank(to))
    throw std::out_of_range("no route from rank " + std::to_string(from) + " to " + std::to_string(to) +
                            "; give two different ones below " + std::to_string(in.ranks));
  const std::uint32_t a = in.host(from), b = in.host(to);
  if (a != b) {
    in.topology->route(a, b, out);
    if (in.half_duplex)
      for (LinkId& link : out.links) link >>= 1;
    return;
  }
  if (!in.intra) {
    out.links.clear();
    out.latency = Time();
    return;
  }
  in.intra->route(from, to, out);
  for (LinkId& link : out.links) link += static_cast<LinkId>(in.buses);
}

std::vector<LinkId> Fabric::nic_links(Rank rank) const {
  const Inside& in = *inside_;
  if (!in.is_rank(rank)) throw std::out_of_range("there is no rank " + std::to_string(rank) + "; there are " + std::to_string(in.ranks));
  std::vector<LinkId> own = in.topology->own_links(in.host(rank));
  if (!in.half_duplex) return own;
  for (LinkId& link : own) link >>= 1;
  own.erase(std::unique(own.begin(), own.end()), own.end());
  return own;
}

std::vector<LinkId> Fabric::inside_links(Rank rank) const {
  const Inside& in = *inside_;
  if (!in.is_rank(rank)) throw std::out_of_range("there is no rank " + std::to_string(rank) + "; there are " + std::to_string(in.ranks));
  if (!in.intra) return {};
  std::vector<LinkId> own = in.intra->own(rank);
  for (LinkId& link : own) link += static_cast<LinkId>(in.buses);
  return own;
}

bool Fabric::is_inside(LinkId link) const { return link >= inside_->buses; }

std::vector<Rank> Fabric::racks() const {
  std::vector<Rank> first = {0};
  for (Rank worker = 1; index_of(worker) < workers(); ++worker)
    if (topology().rack(host(worker)) != topology().rack(host(worker - 1))) first.push_back(worker);
  return first;
}

TopologyFacts Fabric::facts() const { return inside_->topology->facts(); }
const Topology& Fabric::topology() const { return *inside_->topology; }

void build_links(const Fabric& fabric, Network& network) {
  network.expect_links(fabric.links());
  for (std::size_t id = 0; id < fabric.links(); ++id) {
    const LinkId added = network.add_link(fabric.bytes_per_second(static_cast<LinkId>(id)));
    if (added != id)
      throw std::logic_error("the network numbers link " + std::to_string(id) + " of the fabric " + std::to_string(added) +
                             "; start from an empty one");
  }
}

}  // namespace straggler
