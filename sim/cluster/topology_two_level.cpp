// Topology `two_level`: hosts in racks, one switch per rack, and one core switch. A rack's cable to the core has, each way, the given
// bandwidth, or that of all its hosts' NICs together, divided by the oversubscription. Hosts fill the racks in order; n mod R of the R
// racks have one host more than the others.
// Al-Fares, Loukissas, Vahdat, A Scalable, Commodity Data Center Network Architecture, SIGCOMM 2008, section 2.1 (oversubscription).
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/base/even_split.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/switched.hpp"

namespace straggler::cluster::topology_two_level {
namespace {

class TwoLevel final : public SwitchedTopology {
 public:
  TwoLevel(const Parameters& parameters, const TopologyRequest& request)
      : SwitchedTopology(request), racks_(static_cast<std::size_t>(parameters.count("racks"))), uplinks_(uplinks_of(parameters, request)) {
    if (racks_ > nics_.size())
      throw std::invalid_argument("racks: there are " + std::to_string(racks_) + " racks but only " + std::to_string(nics_.size()) +
                                  " hosts to put into them; give at most " + std::to_string(nics_.size()));
    hosts_ = EvenSplit<std::size_t>::of(nics_.size(), racks_);
    set_core(racks_ + 1, racks_, racks_ > 1 ? Way{2, uplinks_.latency + uplinks_.latency} : Way{});
  }

  bool has_racks() const override { return true; }
  void route(std::uint32_t from, std::uint32_t to, Route& out) const override {
    check_route(from, to);
    const std::size_t a = home(from), b = home(to);
    out.links.resize(a == b ? 2 : 4);
    out.links.front() = 2 * from;
    out.links.back() = 2 * to + 1;
    out.latency = nics_[from].latency + nics_[to].latency;
    if (a == b) return;
    out.links[1] = core_link(a);
    out.links[2] = core_link(b) + 1;
    out.latency += uplinks_.latency + uplinks_.latency;
  }

 private:
  std::size_t home(std::size_t endpoint) const override { return hosts_.part_of(endpoint); }
  std::string switch_name(std::size_t rack) const override { return "rack/" + std::to_string(rack); }
  Cable cable(std::size_t rack) const override {
    const Nics::Rates rates = uplinks_.above(cards_of(rack));
    return {switch_name(rack), switch_name(rack), "core", rates.up, rates.down, uplinks_.latency};
  }
  Way between(std::size_t a, std::size_t b) const override { return a == b ? Way{} : Way{2, uplinks_.latency + uplinks_.latency}; }
  Nics::Rates cards_of(std::size_t rack) const { return nics_.sum(hosts_.begin(rack), hosts_.begin(rack + 1)); }

  Bisection bisection() const override {
    bool full_rate = true;
    for (std::size_t rack = 0; rack < racks_ && full_rate; ++rack) full_rate = uplinks_.carry(cards_of(rack));
    if (full_rate || racks_ == 1) return {nics_.halves(), false};
    const std::size_t n = nics_.size();
    if (!nics_.equal_rates()) return {std::min(nics_.halves(), std::min(unequal_cut(n / 2), unequal_cut(n - n / 2))), true};
    const Nics::Rates one = nics_.sum(0, 1);
    double least = nics_.halves();
    for (const std::size_t half : {n / 2, n - n / 2})
      least = std::min({least, packed_cut(half, one.up, one.down), packed_cut(half, one.down, one.up)});
    return {least, false};
  }

  /// Unequal hosts: the least of some cuts. `half` hosts send: those of the first racks in their order, or of the racks whose cables carry
  /// least for each of their hosts, and of one rack its first hosts.
  double unequal_cut(std::size_t half) const {
    std::vector<std::size_t> order(racks_);
    for (std::size_t rack = 0; rack < racks_; ++rack) order[rack] = rack;
    const double in_order = racks_cut(order, half);
    const auto up_per_host = [this](std::size_t rack) {
      return uplinks_.above(cards_of(rack)).up / static_cast<double>(hosts_.begin(rack + 1) - hosts_.begin(rack));
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return up_per_host(a) < up_per_host(b); });
    const double narrow_first = racks_cut(order, half);
    std::reverse(order.begin(), order.end());
    return std::min({in_order, narrow_first, racks_cut(order, half)});
  }

  /// Bandwidth from `half` hosts of the racks in this order to the others: the smaller of the cuts with the core on either side.
  double racks_cut(const std::vector<std::size_t>& order, std::size_t half) const {
    double core_receives = 0, core_sends = 0;
    for (const std::size_t rack : order) {
      const std::size_t first = hosts_.begin(rack), last = hosts_.begin(rack + 1), middle = std::min(last, first + half);
      half -= middle - first;
      const Nics::Rates cable = uplinks_.above(nics_.sum(first, last));
      const double up = nics_.sum(first, middle).up, down = nics_.sum(middle, last).down;
      core_receives += std::min(up, down + cable.up);
      core_sends += std::min(down, up + cable.down);
    }
    return std::min(core_receives, core_sends);
  }

  /// Equal hosts. With the core among the receivers, a rack of s hosts, a of which send, costs min(a up, (s - a) down + c) with a cable of
  /// bandwidth c. That is concave in a, so the least over all ways to pick `half` senders has at most one rack that is neither empty nor
  /// full. All numbers of full racks of either size are tried, with the remaining senders in one rack of either size. (With the core among
  /// the senders, up and down change places.)
  double packed_cut(std::size_t half, double up, double down) const {
    const auto cost = [&](std::size_t size, std::size_t senders) {
      const double all = static_cast<double>(size), a = static_cast<double>(senders);
      return std::min(a * up, (all - a) * down + uplinks_.above({all * up, all * down}).up);
    };
    const std::size_t big = hosts_.least + 1, small = hosts_.least, larger = hosts_.larger, smaller = racks_ - larger;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t x = 0; x <= larger && x * big <= half; ++x) {
      const std::size_t rest = half - x * big, full = std::min(rest / small, smaller);
      for (const std::size_t y : {full, full - std::min<std::size_t>(full, 1)}) {
        const std::size_t left = rest - y * small;
        const double packed = static_cast<double>(x) * cost(big, big) + static_cast<double>(y) * cost(small, small);
        if (left == 0) least = std::min(least, packed);
        if (x < larger && left <= big) least = std::min(least, packed + cost(big, left));
        if (y < smaller && left <= small) least = std::min(least, packed + cost(small, left));
      }
    }
    return least;
  }

  std::size_t racks_;
  EvenSplit<std::size_t> hosts_;  // to racks
  Uplinks uplinks_;
};

const Register<TopologyEntry> entry(
    {"two_level", "racks, each with a switch whose cable to the core may be oversubscribed",
     with_uplinks({{"racks", ValueType::count, {}, true, "number of racks; hosts fill them in order", Range::at_least(1), {}}}, "rack",
                  "rack's hosts"),
     [](const Parameters& parameters, TopologyRequest request) -> std::unique_ptr<Topology> {
       return std::make_unique<TwoLevel>(parameters, request);
     }});

}  // namespace
}  // namespace straggler::cluster::topology_two_level
