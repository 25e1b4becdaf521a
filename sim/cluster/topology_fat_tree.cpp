// Topology `fat_tree`: k pods of k/2 edge and k/2 aggregation switches of k ports each, (k/2)² core switches, up to k³/4 hosts, which
// fill the edge switches in order. Al-Fares, Loukissas, Vahdat, A Scalable, Commodity Data Center Network Architecture, SIGCOMM 2008.
// Aggregation switch a of every pod has core switches a k/2 .. a k/2 + k/2 - 1 above it. With `multipath`, the ways up are D-mod-k: to
// destination d the edge switch takes its port d mod k/2, the aggregation switch port ⌊d / (k/2)⌋ mod k/2, so that each core switch serves
// as many destinations as any other (Zahavi, D-Mod-K Routing Providing Non-Blocking Traffic for Shift Permutations on Real Life Fat Trees,
// 2010; SimGrid's fat trees route the same). Without it everything takes the first port.
#include <algorithm>
#include <stdexcept>

#include "sim/base/registry.hpp"
#include "sim/cluster/switched.hpp"

namespace straggler::cluster::topology_fat_tree {
namespace {

constexpr std::size_t most_ports = 1024;

/// With h = k/2: edge switch e of all has pod e / h; cables e h + port go from edge to aggregation switch, then those from aggregation
/// switch a of pod p, (p h + a) h + port.
class FatTree final : public SwitchedTopology {
 public:
  FatTree(const Parameters& parameters, const TopologyRequest& request)
      : SwitchedTopology(request), half_(half_ports(parameters, nics_.size())), multipath_(parameters.flag("multipath")) {
    core_ = core_of(parameters, request);
    const std::size_t last = home(nics_.size() - 1);
    const std::size_t hops = last == 0 ? 0 : last < half_ ? 2 : 4;
    set_core(5 * half_ * half_, 4 * half_ * half_ * half_, way(hops));
  }

  bool has_racks() const override { return true; }
  void route(std::uint32_t from, std::uint32_t to, Route& out) const override {
    check_route(from, to);
    const std::size_t a = from / half_, b = to / half_, pod_a = a / half_, pod_b = b / half_;
    const std::size_t port = multipath_ ? to % half_ : 0, core_port = multipath_ ? b % half_ : 0;
    out.links.clear();
    out.links.push_back(2 * from);
    if (a != b) out.links.push_back(core_link(a * half_ + port));
    if (pod_a != pod_b) {
      out.links.push_back(core_link(above_edges() + (pod_a * half_ + port) * half_ + core_port));
      out.links.push_back(core_link(above_edges() + (pod_b * half_ + port) * half_ + core_port) + 1);
    }
    if (a != b) out.links.push_back(core_link(b * half_ + port) + 1);
    out.links.push_back(2 * to + 1);
    out.latency = nics_[from].latency + nics_[to].latency + way(out.links.size() - 2).latency;
  }

 private:
  static std::size_t half_ports(const Parameters& parameters, std::size_t hosts) {
    std::size_t smallest = 2;
    while (smallest <= most_ports && smallest * smallest * smallest / 4 < hosts) smallest += 2;
    if (!parameters.has("k")) {
      require_room("a fat tree of switches with " + std::to_string(most_ports) + " ports", most_ports * most_ports * most_ports / 4, hosts,
                   "take another topology");
      return smallest / 2;
    }
    const std::size_t k = static_cast<std::size_t>(parameters.count("k"));
    if (k % 2 != 0)
      throw std::invalid_argument("k: " + std::to_string(k) + " is odd; half of a switch's ports go up, so write an even number such as " +
                                  std::to_string(smallest));
    require_room("k: a fat tree with k = " + std::to_string(k), k * k * k / 4, hosts,
                 "write k: " + std::to_string(smallest) + " or leave k out");
    return k / 2;
  }

  std::size_t above_edges() const { return 2 * half_ * half_ * half_; }
  Way way(std::size_t hops) const { return {hops, Time::from_ticks(static_cast<std::int64_t>(hops) * core_.latency.ticks())}; }
  std::size_t home(std::size_t endpoint) const override { return endpoint / half_; }
  std::string switch_name(std::size_t edge) const override {
    return "pod/" + std::to_string(edge / half_) + "/edge/" + std::to_string(edge % half_);
  }
  std::string aggregation_name(std::size_t pod, std::size_t index) const {
    return "pod/" + std::to_string(pod) + "/aggregation/" + std::to_string(index);
  }
  Cable cable(std::size_t index) const override {
    const bool from_edge = index < above_edges();
    if (!from_edge) index -= above_edges();
    const std::size_t port = index % half_, below = index / half_, pod = below / half_;
    const std::string from = from_edge ? switch_name(below) : aggregation_name(pod, below % half_);
    const std::string to = from_edge ? aggregation_name(pod, port) : "core/" + std::to_string(below % half_ * half_ + port);
    RouteRule rule;
    if (multipath_) rule.spread = static_cast<std::int64_t>(from_edge ? 1 : half_);
    return {from + "/port/" + std::to_string(port), from, to, core_.bytes_per_second, core_.bytes_per_second, core_.latency, rule};
  }
  Way between(std::size_t a, std::size_t b) const override { return way(a == b ? 0 : a / half_ == b / half_ ? 2 : 4); }

  /// Split evenly over all ways up, any traffic that cards of at most the core's bandwidth can make fits (the tree is rearrangeably
  /// non-blocking): then only cards limit. Else no half gets through less than ⌊n/2⌋ times the slowest of card and core cable, which
  /// a full tree attains, k/2 pods against k/2.
  Bisection bisection() const override {
    const Nics::Rates least = nics_.least(), most = nics_.most();
    const double core = core_.bytes_per_second;
    if (std::max(most.up, most.down) <= core) return {nics_.halves(), false};
    const std::size_t n = nics_.size(), half = n / 2;
    const double upper = std::min({nics_.halves(), first_hosts_cut(half), first_hosts_cut(n - half)});
    const double lower = static_cast<double>(half) * std::min({least.up, least.down, core});
    return {upper, upper > lower * (1 + 1e-9)};
  }

  /// A cut between the first hosts and the others. Whole pods first, their cores' cables cut on the smaller side; of the pod that is cut
  /// through, the aggregation switches on either side; of the edge switch that is cut through, likewise.
  double first_hosts_cut(std::size_t hosts) const {
    const std::size_t used = home(nics_.size() - 1) + 1, pods = (used + half_ - 1) / half_, edge = hosts / half_;
    const Nics::Rates here = nics_.sum(edge * half_, hosts);
    const Nics::Rates there = nics_.sum(hosts, std::min(nics_.size(), (edge + 1) * half_));
    double least = -1;
    for (const bool with_edge : {false, true}) {
      if (with_edge && edge >= used) continue;
      const std::size_t edges = edge + (with_edge ? 1 : 0), pod = edges / half_, senders = edges % half_;
      const std::size_t receivers = senders == 0 ? 0 : std::min(used, (pod + 1) * half_) - edges;
      const double cards = with_edge ? std::min(there.up, there.down) : std::min(here.up, here.down);
      for (const bool with_aggregation : {false, true}) {
        if (with_aggregation && senders == 0) continue;
        const std::size_t whole = pod + (with_aggregation ? 1 : 0);
        const std::size_t cables = half_ * half_ * std::min(whole, pods - whole) + half_ * (with_aggregation ? receivers : senders);
        const double cut = static_cast<double>(cables) * core_.bytes_per_second + cards;
        if (least < 0 || cut < least) least = cut;
      }
    }
    return least;
  }

  std::size_t half_;  // k/2
  bool multipath_;
  Core core_;
};

const Register<TopologyEntry> entry({"fat_tree",
                                     "three levels of switches with k ports each, the same bandwidth at the top and at the bottom",
                                     with_core({{"k",
                                                 ValueType::count,
                                                 {},
                                                 false,
                                                 "ports of a switch, even; up to k³/4 hosts; default: the smallest that holds them",
                                                 Range::between(2, most_ports),
                                                 {}},
                                                {"multipath",
                                                 ValueType::boolean,
                                                 "true",
                                                 false,
                                                 "true: the destination chooses the way up (D-mod-k); false: always the first way",
                                                 {},
                                                 {}}}),
                                     [](const Parameters& parameters, TopologyRequest request) -> std::unique_ptr<Topology> {
                                       return std::make_unique<FatTree>(parameters, request);
                                     }});

}  // namespace
}  // namespace straggler::cluster::topology_fat_tree
