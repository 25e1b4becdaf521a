// Sharing model `max_min`: max-min fair shares of every link's bandwidth (D. Bertsekas, R. Gallager, Data Networks, 2nd ed., 1992,
// 6.5.2), at every instant. The network does it all.
#include "sim/base/registry.hpp"
#include "sim/cluster/transport.hpp"

namespace straggler::cluster::sharing_max_min {
namespace {

class MaxMin final : public SharingModel {
 public:
  void prepare(const Fabric&, Network&) const override {}
  void shape(const Path& path, double bytes, std::vector<LinkId>&, std::vector<double>&, Carriage& out) const override {
    out = {.before = {}, .after = Time::from_seconds(path.latency), .bytes = bytes, .links = path.links, .volumes = {}};
  }
  bool plain() const override { return true; }
};

const Register<SharingEntry> entry({"max_min",
                                    "flows on a link share its bandwidth max-min fairly",
                                    "Bertsekas and Gallager, Data Networks, 1992",
                                    {},
                                    [](const Parameters&) { return std::make_unique<MaxMin>(); }});

}  // namespace
}  // namespace straggler::cluster::sharing_max_min
