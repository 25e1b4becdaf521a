// Small instances of every registered topology, and slow but plain answers about any network that lists its links.
#pragma once
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/cluster/topology.hpp"
#include "tests/support/folder.hpp"

namespace straggler {

constexpr Time microseconds(std::int64_t n) { return Time::from_ticks(n * 1'000'000); }

class Folder : public test::TemporaryFolder {
 public:
  std::string operator/(const std::string& name) const { return (path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const { return TemporaryFolder::write(name, text).string(); }
};

/// Workers, then servers, named as a fabric names them.
inline TopologyRequest request_of(std::vector<Nic> nics, std::size_t workers) {
  TopologyRequest request;
  request.nics = std::move(nics);
  request.name = [workers](std::size_t e) { return e < workers ? "worker/" + std::to_string(e) : "server/" + std::to_string(e - workers); };
  request.bytes_per_second = 100;
  request.latency = microseconds(7);
  return request;
}

inline std::unique_ptr<Topology> make_topology(const std::string& kind, const Parameters& parameters, TopologyRequest request) {
  const TopologyEntry& entry = Registry<TopologyEntry>::instance().at(kind);
  return entry.make(complete(entry.parameters, parameters), std::move(request));
}

inline std::vector<Nic> equal_nics(std::size_t n, double rate = 100) { return std::vector<Nic>(n, Nic{rate, rate, microseconds(3)}); }
/// Up and down differ, and so do end points, in bandwidth and latency.
inline std::vector<Nic> unequal_nics(std::size_t n) {
  std::vector<Nic> nics;
  for (std::size_t e = 0; e < n; ++e)
    nics.push_back({static_cast<double>(40 + 30 * (e % 4)), static_cast<double>(50 + 35 * (e * 5 % 3)),
                    microseconds(1 + static_cast<std::int64_t>(e * 7 % 5))});
  return nics;
}

struct TopologyCase {
  std::string kind;
  Parameters parameters;
  std::size_t endpoints;
  std::size_t servers = 0, cards = 1;  // cards of a host
};

using Counts = std::vector<std::int64_t>;

/// Of every registered kind but `file`, which needs one.
inline const std::vector<TopologyCase>& topology_cases() {
  static const std::vector<TopologyCase> cases = {
      {"star", {}, 1},
      {"star", {}, 2},
      {"star", {}, 7, 2},
      {"hosts", {}, 5, 1},
      {"wan", {}, 6, 1},
      {"wan", {{"up", 20.0}, {"down", 30.0}}, 6, 2},
      {"wan", {{"backbone", 60.0}}, 7, 3},
      {"wan", {{"up", 20.0}, {"backbone", 1000.0}}, 4, 1},
      {"wan", {{"backbone", 60.0}, {"backbone_latency", 2e-5}}, 6, 2},
      {"rails", {}, 5},
      {"rails", {{"oversubscription", 3.0}}, 6, 0, 2},
      {"rails", {}, 8, 1, 3},
      {"rails", {{"bandwidth", 70.0}, {"latency", 0.0}}, 6, 0, 2},
      {"two_level", {{"racks", std::int64_t{1}}}, 4},
      {"two_level", {{"racks", std::int64_t{2}}, {"oversubscription", 4.0}}, 8},
      {"two_level", {{"racks", std::int64_t{3}}, {"oversubscription", 3.0}}, 8, 1},
      {"two_level", {{"racks", std::int64_t{3}}}, 7},
      {"two_level", {{"racks", std::int64_t{3}}, {"bandwidth", 90.0}, {"latency", 2e-5}}, 8, 1},
      {"two_level", {{"racks", std::int64_t{2}}, {"bandwidth", 1e6}, {"latency", 0.0}}, 7},
      {"two_level", {{"racks", std::int64_t{5}}, {"oversubscription", 2.5}}, 5},
      {"fat_tree", {}, 1},
      {"fat_tree", {}, 2},
      {"fat_tree", {}, 8},
      {"fat_tree", {{"k", std::int64_t{4}}, {"bandwidth", 30.0}}, 7},
      {"fat_tree", {{"k", std::int64_t{4}}, {"multipath", false}, {"latency", 2e-6}}, 8},
      {"fat_tree", {{"k", std::int64_t{6}}}, 7},
      {"ring", {}, 1},
      {"ring", {}, 2},
      {"ring", {{"bandwidth", 10.0}}, 3},
      {"ring", {}, 8},
      {"torus", {{"dims", Counts{3, 2}}}, 6},
      {"torus", {{"dims", Counts{2, 2, 2}}, {"bandwidth", 25.0}}, 8},
      {"torus", {{"dims", Counts{4, 2}}, {"bandwidth", 40.0}}, 8},
      {"torus", {{"dims", Counts{1, 5, 1}}}, 5},
      {"torus", {{"dims", Counts{1, 1}}}, 1},
      {"torus", {{"dims", Counts{2, 3}}, {"bandwidth", 1.0}}, 6},
      {"dragonfly", {{"groups", std::int64_t{4}}, {"routers", std::int64_t{2}}, {"hosts", std::int64_t{1}}}, 8},
      {"dragonfly", {{"groups", std::int64_t{2}}, {"routers", std::int64_t{2}}, {"hosts", std::int64_t{2}}, {"global_bandwidth", 20.0}}, 8},
      {"dragonfly", {{"groups", std::int64_t{3}}, {"routers", std::int64_t{4}}, {"hosts", std::int64_t{1}}, {"global_latency", 2e-5}}, 7},
      {"dragonfly", {{"groups", std::int64_t{1}}, {"routers", std::int64_t{4}}, {"hosts", std::int64_t{2}}, {"bandwidth", 10.0}}, 8},
      {"dragonfly", {{"groups", std::int64_t{5}}, {"routers", std::int64_t{1}}, {"hosts", std::int64_t{1}}}, 5},
      {"dragonfly", {{"groups", std::int64_t{1}}, {"routers", std::int64_t{1}}, {"hosts", std::int64_t{4}}}, 3},
      {"full", {}, 1},
      {"full", {}, 2},
      {"full", {}, 7, 1},
  };
  return cases;
}

inline std::unique_ptr<Topology> make_case(const TopologyCase& c, bool unequal) {
  TopologyRequest request = request_of(unequal ? unequal_nics(c.endpoints) : equal_nics(c.endpoints), c.endpoints - c.servers);
  for (std::uint32_t e = 0; c.cards > 1 && e < c.endpoints; ++e) request.card.push_back(e % static_cast<std::uint32_t>(c.cards));
  return make_topology(c.kind, c.parameters, std::move(request));
}

/// Larger ones, for routes and numbering but not for cuts.
inline const std::vector<TopologyCase>& larger_topology_cases() {
  static const std::vector<TopologyCase> cases = {
      {"fat_tree", {{"k", std::int64_t{4}}}, 16},
      {"fat_tree", {{"k", std::int64_t{6}}}, 54},
      {"fat_tree", {{"multipath", false}}, 20},
      {"ring", {}, 17},
      {"torus", {{"dims", Counts{3, 4, 5}}}, 60},
      {"torus", {{"dims", Counts{2, 5, 2, 3}}}, 60},
      {"torus", {{"dims", Counts{5, 5}}}, 25},
      {"torus", {{"dims", Counts{3, 3}}}, 9},
      {"torus", {{"dims", Counts{6, 3}}}, 18},
      {"dragonfly", {{"groups", std::int64_t{9}}, {"routers", std::int64_t{4}}, {"hosts", std::int64_t{2}}}, 72},
      {"dragonfly", {{"groups", std::int64_t{5}}, {"routers", std::int64_t{4}}, {"hosts", std::int64_t{3}}}, 60, 4},
      {"dragonfly", {{"groups", std::int64_t{7}}, {"routers", std::int64_t{2}}, {"hosts", std::int64_t{3}}}, 37},
      {"two_level", {{"racks", std::int64_t{7}}, {"oversubscription", 3.0}}, 40, 3},
      {"two_level", {{"racks", std::int64_t{4}}, {"bandwidth", 150.0}, {"latency", 1e-5}}, 30, 2},
      {"full", {}, 30},
      {"star", {}, 40, 8},
  };
  return cases;
}

/// The network as it lists itself.
class Listed {
 public:
  explicit Listed(const Topology& topology) {
    for (LinkId id = 0; id < topology.links(); ++id) links.push_back(topology.link(id));
    for (std::uint32_t e = 0; e < topology.endpoints(); ++e) hosts.push_back(node(topology.name(e)));
    for (const LinkDescription& link : links) {
      from.push_back(node(link.from));
      to.push_back(node(link.to));
    }
  }
  std::size_t node(const std::string& name) { return number.emplace(name, number.size()).first->second; }
  std::size_t nodes() const { return number.size(); }

  std::vector<LinkDescription> links;
  std::vector<std::size_t> hosts, from, to;
  std::map<std::string, std::size_t> number;
};

/// Least (ticks, hops) between all nodes over the links that `use` keeps (Floyd & Warshall).
struct Reach {
  std::int64_t ticks = 0, hops = 0;
  auto operator<=>(const Reach&) const = default;
  Reach operator+(const Reach& o) const { return {ticks + o.ticks, hops + o.hops}; }
};
constexpr Reach unreachable{std::int64_t{1} << 60, 0};
template <class Use>
std::vector<std::vector<Reach>> all_ways(const Listed& net, Use use) {
  std::vector<std::vector<Reach>> best(net.nodes(), std::vector<Reach>(net.nodes(), unreachable));
  for (std::size_t n = 0; n < net.nodes(); ++n) best[n][n] = {};
  for (std::size_t l = 0; l < net.links.size(); ++l)
    if (use(net.links[l])) best[net.from[l]][net.to[l]] = std::min(best[net.from[l]][net.to[l]], Reach{net.links[l].latency.ticks(), 1});
  for (std::size_t k = 0; k < net.nodes(); ++k)
    for (std::size_t i = 0; i < net.nodes(); ++i)
      for (std::size_t j = 0; j < net.nodes(); ++j) best[i][j] = std::min(best[i][j], best[i][k] + best[k][j]);
  return best;
}

/// The most that the chosen hosts can send to the others (Edmonds & Karp on a matrix of capacities).
inline double most_flow(const Listed& net, const std::vector<bool>& sends) {
  const std::size_t n = net.nodes() + 2, source = n - 2, sink = n - 1;
  std::vector<std::vector<double>> left(n, std::vector<double>(n, 0));
  for (std::size_t l = 0; l < net.links.size(); ++l) left[net.from[l]][net.to[l]] += net.links[l].bytes_per_second;
  for (std::size_t h = 0; h < net.hosts.size(); ++h) (sends[h] ? left[source][net.hosts[h]] : left[net.hosts[h]][sink]) = 1e12;
  double flow = 0;
  while (true) {
    std::vector<std::size_t> before(n, n);
    std::deque<std::size_t> open{source};
    before[source] = source;
    while (!open.empty() && before[sink] == n) {
      const std::size_t at = open.front();
      open.pop_front();
      for (std::size_t next = 0; next < n; ++next) {
        if (before[next] != n || left[at][next] <= 1e-9) continue;
        before[next] = at;
        open.push_back(next);
      }
    }
    if (before[sink] == n) return flow;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t at = sink; at != source; at = before[at]) least = std::min(least, left[before[at]][at]);
    for (std::size_t at = sink; at != source; at = before[at]) {
      left[before[at]][at] -= least;
      left[at][before[at]] += least;
    }
    flow += least;
  }
}

/// Over all halves.
inline double bisection_by_force(const Listed& net) {
  const std::size_t n = net.hosts.size();
  if (n < 2) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t set = 0; set < std::size_t{1} << n; ++set) {
    std::vector<bool> sends(n);
    std::size_t many = 0;
    for (std::size_t h = 0; h < n; ++h) many += sends[h] = (set >> h & 1) != 0;
    if (many == n / 2 || many == n - n / 2) least = std::min(least, most_flow(net, sends));
  }
  return least;
}

}  // namespace straggler
