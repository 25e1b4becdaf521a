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
  return {intra.bytes_per_second, intra.latency, level(intra.pcie_switch), level(intra.socket), level(intra.nvlink), intra.card.place};
}

/// Throws unless a card on a switch is one of its workers alone.
void check_cards(const Placement::Intra& intra) {
  if (intra.card.place == CardPlace::beside) return;
  if (intra.card.workers == 0) throw std::invalid_argument("intra.card: says where cards sit, but not how many workers have one");
  if (intra.card.place == CardPlace::bus) return;
  if (intra.pcie_switch.workers == 0 || intra.pcie_switch.workers % intra.card.workers != 0)
    throw std::invalid_argument("intra.card: one for " + std::to_string(intra.card.workers) + " workers does not fit on a switch of " +
                                std::to_string(intra.pcie_switch.workers));
}

/// Which card each rank has, and the cards of all hosts.
struct CardPlan {
  std::vector<std::uint32_t> of_rank;                // [ranks]; empty: the card of its host
  std::vector<std::uint32_t> host, number;           // [cards]: of which host, and which of it
  bool several() const { return !of_rank.empty(); }  // of some host
};

CardPlan cards_of(const Placement& placement) {
  CardPlan plan;
  if (!placement.intra || placement.intra->card.workers == 0 || placement.host_of.empty()) return plan;
  const std::size_t hosts = placement.nics.size(), each = placement.intra->card.workers;
  std::vector<std::size_t> taken(hosts), seat(placement.workers);
  for (std::size_t worker = 0; worker < placement.workers; ++worker) seat[worker] = taken[placement.host_of[worker]]++;
  std::vector<std::uint32_t> first;  // [hosts]
  for (std::size_t host = 0; host < hosts; ++host) {
    first.push_back(static_cast<std::uint32_t>(plan.host.size()));
    for (std::size_t number = 0; number == 0 || number * each < taken[host]; ++number) {
      plan.host.push_back(static_cast<std::uint32_t>(host));
      plan.number.push_back(static_cast<std::uint32_t>(number));
    }
  }
  if (plan.host.size() == hosts) return {};
  for (std::size_t rank = 0; rank < placement.host_of.size(); ++rank)
    plan.of_rank.push_back(first[placement.host_of[rank]] + static_cast<std::uint32_t>(rank < placement.workers ? seat[rank] / each : 0));
  return plan;
}

/// NODE where the host has one card, else NODE/card/K.
std::function<std::string(std::size_t)> names_of_cards(const CardPlan& plan, const std::function<std::string(std::size_t)>& host_name) {
  std::vector<bool> several(plan.host.empty() ? 0 : plan.host.back() + 1);
  for (std::size_t card = 0; card < plan.host.size(); ++card) several[plan.host[card]] = several[plan.host[card]] || plan.number[card] > 0;
  return [hosts = plan.host, number = plan.number, host_name, several = std::move(several)](std::size_t card) {
    const std::uint32_t host = hosts[card];
    return host_name(host) + (several[host] ? "/card/" + std::to_string(number[card]) : "");
  };
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
  std::function<std::string(std::size_t)> host_name;
  std::size_t workers = 0, servers = 0, ranks = 0, hosts = 0;
  std::vector<std::uint32_t> card_of;  // [ranks]; empty: the card of its host
  std::vector<std::uint32_t> host_of;
  std::optional<HostInside> intra;  // only if some ranks share a host
  bool half_duplex = false;
  bool crosses_inside = false;  // on the way to another host
  bool direct = false;          // the topology's routes as they are
  std::size_t buses = 0;        // the first link of a bus

  std::uint32_t host(Rank rank) const { return host_of.empty() ? static_cast<std::uint32_t>(rank) : host_of[index_of(rank)]; }
  std::uint32_t card(Rank rank) const { return card_of.empty() ? host(rank) : card_of[index_of(rank)]; }
  bool is_rank(Rank rank) const { return rank >= 0 && index_of(rank) < ranks; }

  /// Around the way between two cards that `out` holds: those of workers from and to them.
  void route_through(Rank from, Rank to, Route& out) const {
    const std::size_t between = out.links.size();
    if (index_of(from) < workers) intra->to_card(from, out);
    const std::size_t before = out.links.size() - between;
    if (index_of(to) < workers) intra->from_card(to, out);
    for (std::size_t i = between; i < out.links.size(); ++i) out.links[i] += static_cast<LinkId>(buses);
    std::rotate(out.links.begin(), out.links.begin() + static_cast<std::ptrdiff_t>(between),
                out.links.begin() + static_cast<std::ptrdiff_t>(between + before));
  }
};

Fabric::Fabric(const TopologyEntry& entry, const Parameters& parameters, Placement placement, double core_bytes_per_second,
               Time core_latency) {
  check(placement);
  auto inside = std::make_shared<Inside>();
  inside->workers = placement.workers;
  inside->servers = placement.servers;
  inside->ranks = placement.workers + placement.servers + placement.aggregators;
  const std::size_t hosts = inside->hosts = placement.nics.size();
  if (placement.intra) check_cards(*placement.intra);
  inside->crosses_inside = placement.intra && placement.intra->card.place != CardPlace::beside;
  inside->host_name = placement.host_of.empty() ? names_of_ranks(placement.workers, placement.servers) : names_of_hosts(placement);
  CardPlan cards = cards_of(placement);
  TopologyRequest request;
  request.name = cards.several() ? names_of_cards(cards, inside->host_name) : inside->host_name;
  for (const std::uint32_t host : cards.several() ? cards.host : std::vector<std::uint32_t>()) request.nics.push_back(placement.nics[host]);
  if (!cards.several()) request.nics = std::move(placement.nics);
  inside->card_of = std::move(cards.of_rank);
  if (!inside->card_of.empty()) request.card = std::move(cards.number);
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
  if (inside->crosses_inside && inside->host_of.empty()) {
    inside->direct = false;
    for (std::size_t rank = 0; rank < inside->ranks; ++rank) inside->host_of.push_back(static_cast<std::uint32_t>(rank));
  }
  if (placement.intra) {
    // Checked even if no workers share a host.
    HostInside intra(levels_of(*placement.intra), inside->host_of, inside->host_of.empty() ? 0 : placement.workers);
    if (shared || inside->crosses_inside) inside->intra = std::move(intra);
  }
  inside_ = std::move(inside);
  if (links() > std::numeric_limits<LinkId>::max())
    throw std::invalid_argument(std::to_string(links()) + " links are too many; at most 2^32 - 1 can be numbered");
}

std::size_t Fabric::ranks() const { return inside_->ranks; }
std::size_t Fabric::workers() const { return inside_->workers; }
std::size_t Fabric::hosts() const { return inside_->hosts; }
std::uint32_t Fabric::host(Rank rank) const { return inside_->host(rank); }
std::size_t Fabric::cards() const { return inside_->topology->endpoints(); }
std::uint32_t Fabric::card(Rank rank) const { return inside_->card(rank); }

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
      [&in](std::uint32_t host) { return in.host_name(host); });
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

const Topology* Fabric::direct() const { return inside_->direct ? inside_->topology.get() : nullptr; }

void Fabric::route(Rank from, Rank to, Route& out) const {
  const Inside& in = *inside_;
  if (in.direct) return in.topology->route(in.host(from), in.host(to), out);
  if (from == to || !in.is_rank(from) || !in.is_rank(to))
    throw std::out_of_range("no route from rank " + std::to_string(from) + " to " + std::to_string(to) +
                            "; give two different ones below " + std::to_string(in.ranks));
  if (in.host(from) != in.host(to)) {
    in.topology->route(in.card(from), in.card(to), out);
    if (in.half_duplex)
      for (LinkId& link : out.links) link >>= 1;
    if (in.crosses_inside) in.route_through(from, to, out);
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
  std::vector<LinkId> own = in.topology->own_links(in.card(rank));
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

std::vector<LevelLink> Fabric::level_links(Rank rank) const {
  const Inside& in = *inside_;
  if (!in.is_rank(rank)) throw std::out_of_range("there is no rank " + std::to_string(rank) + "; there are " + std::to_string(in.ranks));
  if (!in.intra) return {};
  std::vector<LevelLink> all = in.intra->above(rank);
  for (LevelLink& each : all) each.link += static_cast<LinkId>(in.buses);
  return all;
}

bool Fabric::is_inside(LinkId link) const { return link >= inside_->buses; }

std::vector<Rank> Fabric::racks() const {
  std::vector<Rank> first = {0};
  for (Rank worker = 1; index_of(worker) < workers(); ++worker)
    if (topology().rack(card(worker)) != topology().rack(card(worker - 1)) && host(worker) != host(worker - 1)) first.push_back(worker);
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
