// Topology `star`: every end point hangs on one switch by its own NIC, an up-link and a down-link, which carry its latency
// each; the switch itself never limits. End point i has links 2i (up) and 2i + 1 (down); the route i -> j is {2i, 2j + 1}.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/base/registry.hpp"
#include "sim/cluster/topology.hpp"

namespace straggler {
namespace {

/// Equal neighbours share one record: a million workers of one group take one.
class Star final : public Topology {
 public:
  Star(const std::vector<Nic>& nics, std::size_t workers) : endpoints_(nics.size()), workers_(workers) {
    if (workers > nics.size())
      throw std::logic_error("star: " + std::to_string(workers) + " workers but " + std::to_string(nics.size()) + " network cards");
    if (nics.size() > std::numeric_limits<LinkId>::max() / 2)
      throw std::invalid_argument("star: " + std::to_string(nics.size()) + " end points are too many; at most 2^31 fit");
    for (std::size_t i = 0; i < nics.size(); ++i) {
      check(nics[i], i);
      if (groups_.empty() || groups_.back().nic.bytes_per_second != nics[i].bytes_per_second ||
          groups_.back().nic.latency != nics[i].latency)
        groups_.push_back({i, nics[i]});
    }
  }

  std::size_t endpoints() const override { return endpoints_; }
  std::size_t links() const override { return 2 * endpoints_; }

  LinkDescription link(LinkId id) const override {
    if (id >= links()) throw std::out_of_range("star: there is no link " + std::to_string(id) + "; there are " + std::to_string(links()));
    const std::string end = name(id / 2);
    const bool up = id % 2 == 0;
    const Nic& card = nic(id / 2);
    return {end + (up ? ":up" : ":down"), up ? end : "switch", up ? "switch" : end, card.bytes_per_second, card.latency};
  }

  void route(std::uint32_t from, std::uint32_t to, Route& out) const override {
    if (from == to || from >= endpoints_ || to >= endpoints_)
      throw std::out_of_range("star: no route from end point " + std::to_string(from) + " to " + std::to_string(to) +
                              "; give two different ones below " + std::to_string(endpoints_));
    out.links.resize(2);
    out.links[0] = 2 * from;
    out.links[1] = 2 * to + 1;
    out.latency = nic(from).latency + nic(to).latency;
  }

 private:
  struct Group {
    std::size_t first;  // end point; the group ends where the next begins
    Nic nic;
  };

  std::string name(std::size_t endpoint) const {
    return endpoint < workers_ ? "worker/" + std::to_string(endpoint) : "server/" + std::to_string(endpoint - workers_);
  }

  void check(const Nic& card, std::size_t endpoint) const {
    if (!(card.bytes_per_second > 0 && std::isfinite(card.bytes_per_second)))
      throw std::invalid_argument(name(endpoint) + ": link.bandwidth is " + std::to_string(card.bytes_per_second) +
                                  " B/s; it must be above 0");
    // Half the limit, so that a route's sum fits.
    if (card.latency < Time() || card.latency.ticks() > Time::limit().ticks() / 2)
      throw std::invalid_argument(name(endpoint) + ": link.latency is " + std::to_string(card.latency.seconds()) +
                                  " s; it must be at least 0, at most 50 days");
  }

  const Nic& nic(std::size_t endpoint) const {
    if (groups_.size() == 1) return groups_.front().nic;
    const auto after =
        std::upper_bound(groups_.begin(), groups_.end(), endpoint, [](std::size_t e, const Group& group) { return e < group.first; });
    return std::prev(after)->nic;
  }

  std::vector<Group> groups_;
  std::size_t endpoints_, workers_;
};

const Register<TopologyEntry> entry({"star",
                                     "one switch that never limits, one full-duplex link to every worker and server",
                                     {},
                                     [](const Parameters&, std::vector<Nic> nics, std::size_t workers) -> std::unique_ptr<Topology> {
                                       return std::make_unique<Star>(nics, workers);
                                     }});

}  // namespace
}  // namespace straggler
