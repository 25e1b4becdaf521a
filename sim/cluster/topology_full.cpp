// Topology `full`: a cable for every pair of end points and no switch. Each direction has the bandwidth of the sender's up-link or of the
// receiver's down-link, whichever is narrower. Its latency is the sum of both NICs', so a message alone takes as long as in a star. Nothing
// is shared, so messages do not contend. Cable j (j - 1) / 2 + i joins end points i < j; link 2 c leads from i to j.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "sim/base/registry.hpp"
#include "sim/cluster/nics.hpp"
#include "sim/cluster/pairs.hpp"

namespace straggler::cluster::topology_full {
namespace {

class Full final : public Topology {
 public:
  explicit Full(const TopologyRequest& request) : nics_(request.nics, request.name) {
    if (nics_.size() > std::size_t{1} << 16)
      throw std::invalid_argument(std::to_string(nics_.size()) +
                                  " end points are too many for a cable each pair; give at most 65536, or another topology");
  }

  std::size_t endpoints() const override { return nics_.size(); }
  std::size_t links() const override { return 2 * pairs_below(nics_.size()); }
  std::string name(std::uint32_t endpoint) const override { return nics_.name(endpoint); }

  LinkDescription link(LinkId id) const override {
    const auto [from, to] = ends(id);
    const std::string a = nics_.name(std::min(from, to)), b = nics_.name(std::max(from, to));
    const bool up = id % 2 == 0;
    return {a + "--" + b + (up ? ":up" : ":down"), up ? a : b, up ? b : a, rate(from, to), nics_[from].latency + nics_[to].latency};
  }
  double bytes_per_second(LinkId id) const override {
    const auto [from, to] = ends(id);
    return rate(from, to);
  }
  std::vector<LinkId> own_links(std::uint32_t endpoint) const override {
    std::vector<LinkId> own;
    for (std::size_t other = 0; other < nics_.size(); ++other) {
      if (other == endpoint) continue;
      own.push_back(link_between(endpoint, other));
      own.push_back(own.back() ^ 1);
    }
    return own;
  }

  void route(std::uint32_t from, std::uint32_t to, Route& out) const override {
    if (from == to || from >= nics_.size() || to >= nics_.size())
      throw std::out_of_range("no route from end point " + std::to_string(from) + " to " + std::to_string(to) +
                              "; give two different ones below " + std::to_string(nics_.size()));
    out.links.resize(1);
    out.links[0] = link_between(from, to);
    out.latency = nics_[from].latency + nics_[to].latency;
  }

  TopologyFacts facts() const override {
    TopologyFacts facts;
    const std::size_t n = nics_.size();
    facts.cables = pairs_below(n);
    if (n < 2) return facts;
    facts.diameter_hops = 1;
    Time first, second;
    for (std::size_t e = 0; e < n; ++e) {
      second = std::max(second, std::min(first, nics_[e].latency));
      first = std::max(first, nics_[e].latency);
    }
    facts.diameter_latency = first + second;
    // Equal cards: ⌊n/2⌋ ⌈n/2⌉ equal cables for any halves. Otherwise some cuts: the narrow senders, or the narrow receivers, apart.
    facts.bisection_is_bound = !nics_.equal_rates();
    facts.bisection_bytes_per_second = std::numeric_limits<double>::infinity();
    for (const std::size_t half : {n / 2, n - n / 2})
      facts.bisection_bytes_per_second = std::min({facts.bisection_bytes_per_second, narrow_senders(half), narrow_receivers(half)});
    return facts;
  }

 private:
  std::pair<std::size_t, std::size_t> ends(LinkId id) const {
    if (id >= links()) throw std::out_of_range("there is no link " + std::to_string(id) + "; there are " + std::to_string(links()));
    const auto [i, j] = pair_of(id / 2);
    return id % 2 == 0 ? std::pair(i, j) : std::pair(j, i);
  }
  static LinkId link_between(std::size_t from, std::size_t to) {
    return static_cast<LinkId>(2 * pair_number(from, to) + (from < to ? 0 : 1));
  }
  double rate(std::size_t from, std::size_t to) const { return std::min(nics_[from].up_bytes_per_second, nics_[to].down_bytes_per_second); }

  /// End points in ascending order of the key, which is a rate.
  template <class Key>
  std::vector<std::size_t> sorted_by(Key key) const {
    std::vector<std::size_t> order(nics_.size());
    for (std::size_t e = 0; e < order.size(); ++e) order[e] = e;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return order;
  }
  double narrow_senders(std::size_t half) const {
    const auto order = sorted_by([this](std::size_t e) { return nics_[e].up_bytes_per_second; });
    return cut({order.begin(), order.begin() + static_cast<std::ptrdiff_t>(half)},
               {order.begin() + static_cast<std::ptrdiff_t>(half), order.end()});
  }
  double narrow_receivers(std::size_t half) const {
    const auto order = sorted_by([this](std::size_t e) { return nics_[e].down_bytes_per_second; });
    return cut({order.begin() + static_cast<std::ptrdiff_t>(half), order.end()},
               {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(half)});
  }
  /// All cables from senders to receivers: for each sender, the receivers narrower than itself by their own rate, the others by its.
  double cut(const std::vector<std::size_t>& senders, const std::vector<std::size_t>& receivers) const {
    std::vector<double> downs;
    for (const std::size_t r : receivers) downs.push_back(nics_[r].down_bytes_per_second);
    std::sort(downs.begin(), downs.end());
    std::vector<double> sums{0};
    for (const double down : downs) sums.push_back(sums.back() + down);
    double total = 0;
    for (const std::size_t s : senders) {
      const double up = nics_[s].up_bytes_per_second;
      const auto narrower = static_cast<std::size_t>(std::lower_bound(downs.begin(), downs.end(), up) - downs.begin());
      total += sums[narrower] + up * static_cast<double>(downs.size() - narrower);
    }
    return total;
  }

  Nics nics_;
};

const Register<TopologyEntry> entry(
    {"full",
     "a cable for every pair of hosts, as fast as the slower of their two links, with the latency of both; nothing is shared",
     {},
     [](const Parameters&, TopologyRequest request) -> std::unique_ptr<Topology> { return std::make_unique<Full>(request); }});

}  // namespace
}  // namespace straggler::cluster::topology_full
