// Topology `star`: every end point is attached to one switch by its own NIC, an up-link and a down-link, which carry its latency
// each; the switch itself never limits. End point i has links 2i (up) and 2i + 1 (down); the route i -> j is {2i, 2j + 1}.
// Bisection: the smallest ⌊n/2⌋ up-links, or down-links, together.
#include <algorithm>
#include <optional>

#include "sim/base/registry.hpp"
#include "sim/cluster/star.hpp"
#include "sim/cluster/switched.hpp"

namespace straggler {
namespace {

class Star final : public SwitchedTopology {
 public:
  explicit Star(const TopologyRequest& request) : SwitchedTopology(request) {
    set_core(1, 0, {});
    const Time first = nics_.runs().runs()[0].value.latency;
    if (std::ranges::all_of(nics_.runs().runs(), [first](const auto& run) { return run.value.latency == first; })) of_all_ = first + first;
  }

  void route(std::uint32_t from, std::uint32_t to, Route& out) const override {
    check_route(from, to);
    if (out.links.size() != 2) out.links.resize(2);
    out.links[0] = 2 * from;
    out.links[1] = 2 * to + 1;
    out.latency = of_all_ ? *of_all_ : nics_[from].latency + nics_[to].latency;
  }

 private:
  std::size_t home(std::size_t) const override { return 0; }
  std::string switch_name(std::size_t) const override { return "switch"; }
  Cable cable(std::size_t) const override { return {}; }
  Way between(std::size_t, std::size_t) const override { return {}; }
  Bisection bisection() const override { return {nics_.halves(), false}; }

  std::optional<Time> of_all_;  // latency of every route; none: they differ, and cards of unequal links take a search
};

const Register<TopologyEntry> star_entry(
    {"star",
     "one switch without a limit, one link to every host: to every worker and server, or to the per_host workers that share one",
     {},
     [](const Parameters&, TopologyRequest request) { return make_star(request); }});

}  // namespace

std::unique_ptr<Topology> make_star(const TopologyRequest& request) { return std::make_unique<Star>(request); }

}  // namespace straggler
