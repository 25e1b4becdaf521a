// Sharing model `lv08`: SimGrid's default model of TCP (P. Velho, A. Legrand, Accuracy study and improvement of network simulation in the
// SimGrid framework, SIMUTools 2009), for comparison with it. With Λ the route's latency, the sum over its links:
//   - 13.01 Λ passes first;
//   - then the flow shares the links max-min fairly by the weight 1 / (Λ + Σ 20537 / bandwidth), a round trip that grows on slow links
//     (without latency: by weight 1, as if that took a second);
//   - it never exceeds 4194304 / (2 Λ), a TCP window a round trip;
//   - acknowledgements add 0.05 of its rate on every link of the way back, which may be a link of the way there;
//   - the user sees 0.97 of that rate, window included: so bytes / 0.97 travel.
// What each constant applies to (Λ itself, not 13.01 Λ; the raw bandwidth) was found by running SimGrid 3.32: tools/compare_simgrid.
#include <algorithm>
#include <limits>

#include "sim/base/registry.hpp"
#include "sim/cluster/transport.hpp"

namespace straggler::cluster::sharing_lv08 {
namespace {

constexpr double latency_factor = 13.01, bandwidth_factor = 0.97;  // network/latency-factor, network/bandwidth-factor
constexpr double weight_s = 20537;                                 // network/weight-S, bytes
constexpr double window = 4194304;                                 // network/TCP-gamma, bytes
constexpr double acknowledgements = 0.05;                          // network/crosstraffic

class Lv08 final : public SharingModel {
 public:
  void prepare(const Fabric&, Network&) const override {}

  void shape(const Path& path, double bytes, std::vector<LinkId>& links, std::vector<double>& volumes, Carriage& out) const override {
    links.assign(path.links.begin(), path.links.end());
    volumes.assign(links.size(), 1);
    for (const LinkId back : path.reverse) {
      const auto at = std::find(links.begin(), links.end(), back);
      if (at != links.end()) {
        volumes[static_cast<std::size_t>(at - links.begin())] += acknowledgements;
      } else {
        links.push_back(back);
        volumes.push_back(acknowledgements);
      }
    }
    double round_trip = path.latency;
    for (const double bandwidth : path.bytes_per_second) round_trip += weight_s / bandwidth;
    out.before = Time::from_seconds(latency_factor * path.latency);
    out.after = {};
    out.bytes = bytes / bandwidth_factor;
    out.weight = path.latency > 0 ? 1 / round_trip : 1;
    out.most_bytes_per_second = path.latency > 0 && !links.empty() ? window / (2 * path.latency) : std::numeric_limits<double>::infinity();
    out.links = links;
    out.volumes = volumes;
  }
};

const Register<SharingEntry> entry({"lv08",
                                    "SimGrid's default TCP model: latency first, shares by round trip, acknowledgements on the way back",
                                    "Velho and Legrand, SIMUTools 2009",
                                    {},
                                    [](const Parameters&) { return std::make_unique<Lv08>(); }});

}  // namespace
}  // namespace straggler::cluster::sharing_lv08
