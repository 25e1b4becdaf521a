// Topology `rails`: a switch for each network card of a host. The k-th cards of all hosts are connected to the switch rail/k, and each of
// these switches to one core. Its cable to the core has, each way, the given bandwidth, or that of all its cards together, divided by the
// oversubscription. So traffic between cards of the same number stays on their switch. Hosts with fewer cards are on the first rails only.
// NVIDIA, DGX SuperPOD reference architecture, RA-10263, compute fabric ("rail-optimized").
#include <algorithm>
#include <stdexcept>

#include "sim/base/registry.hpp"
#include "sim/cluster/switched.hpp"

namespace straggler::cluster::topology_rails {
namespace {

class Rails final : public SwitchedTopology {
 public:
  Rails(const Parameters& parameters, const TopologyRequest& request)
      : SwitchedTopology(request), uplinks_(uplinks_of(parameters, request)), rail_of_(request.card) {
    rail_of_.resize(nics_.size());  // every host has one card: all on the first rail
    rates_.resize(std::size_t{*std::max_element(rail_of_.begin(), rail_of_.end())} + 1);
    for (std::size_t card = 0; card < rail_of_.size(); ++card) {
      rates_[rail_of_[card]].up += nics_[card].up_bytes_per_second;
      rates_[rail_of_[card]].down += nics_[card].down_bytes_per_second;
    }
    set_core(rails() + 1, rails(), rails() > 1 ? Way{2, uplinks_.latency + uplinks_.latency} : Way{});
  }

  std::size_t rack(std::uint32_t) const override { return 0; }

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
  std::size_t rails() const { return rates_.size(); }
  std::size_t home(std::size_t card) const override { return rail_of_[card]; }
  std::string switch_name(std::size_t rail) const override { return "rail/" + std::to_string(rail); }
  Cable cable(std::size_t rail) const override {
    const Nics::Rates rates = uplinks_.above(rates_[rail]);
    return {switch_name(rail), switch_name(rail), "core", rates.up, rates.down, uplinks_.latency};
  }
  Way between(std::size_t a, std::size_t b) const override { return a == b ? Way{} : Way{2, uplinks_.latency + uplinks_.latency}; }

  /// Half of the cards against the others. If cables carry all of their rails' traffic, only the cards limit it. Otherwise whole rails on
  /// one side are a cut, too: the narrowest first, as long as they fit into half of the cards.
  Bisection bisection() const override {
    const auto full_rate = [this](Nics::Rates cards) { return uplinks_.carry(cards); };
    if (rails() == 1 || std::all_of(rates_.begin(), rates_.end(), full_rate)) return {nics_.halves(), false};
    std::vector<std::size_t> cards(rails()), order(rails());
    for (const std::uint32_t rail : rail_of_) ++cards[rail];
    for (std::size_t rail = 0; rail < rails(); ++rail) order[rail] = rail;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return uplinks_.above(rates_[a]).up / static_cast<double>(cards[a]) < uplinks_.above(rates_[b]).up / static_cast<double>(cards[b]);
    });
    std::size_t room = nics_.size() / 2;
    Nics::Rates cut;
    for (const std::size_t rail : order) {
      if (room >= cards[rail]) {
        room -= cards[rail];
        cut.up += uplinks_.above(rates_[rail]).up;
        cut.down += uplinks_.above(rates_[rail]).down;
        continue;
      }
      for (std::size_t card = 0; card < rail_of_.size() && room > 0; ++card) {  // a rail that is cut through: its first cards
        if (rail_of_[card] != rail) continue;
        --room;
        cut.up += nics_[card].up_bytes_per_second;
        cut.down += nics_[card].down_bytes_per_second;
      }
      break;
    }
    return {std::min({nics_.halves(), cut.up, cut.down}), true};
  }

  Uplinks uplinks_;
  std::vector<std::uint32_t> rail_of_;  // [cards]
  std::vector<Nics::Rates> rates_;      // [rails] of all cards together
};

const Register<TopologyEntry> entry({"rails",
                                     "for each k a switch (a rail) connects the k-th cards of all hosts; a core connects the rails",
                                     with_uplinks({}, "rail", "rail's cards"),
                                     [](const Parameters& parameters, TopologyRequest request) -> std::unique_ptr<Topology> {
                                       return std::make_unique<Rails>(parameters, request);
                                     }});

}  // namespace
}  // namespace straggler::cluster::topology_rails
