// Sharing model `none`: every message has the whole bandwidth of its narrowest link, even if other messages are in flight, so that it takes
// latency plus bytes over bandwidth (R. W. Hockney, The communication challenge for MPP, Parallel Computing 20, 1994). This is the
// baseline: the difference from it is the cost of contention.
#include "sim/base/registry.hpp"
#include "sim/cluster/transport.hpp"

namespace straggler::cluster::sharing_none {
namespace {

class NoContention final : public SharingModel {
 public:
  void prepare(const Fabric&, Network& network) const override { network.set_contention(false); }
  void shape(const Path& path, double bytes, std::vector<LinkId>&, std::vector<double>&, Carriage& out) const override {
    out = {.before = {}, .after = Time::from_seconds(path.latency), .bytes = bytes, .links = path.links, .volumes = {}};
  }
  bool plain() const override { return true; }
  bool contention() const override { return false; }
};

const Register<SharingEntry> entry({"none",
                                    "no contention: every message has the whole bandwidth of its narrowest link",
                                    "Hockney, Parallel Computing 20, 1994",
                                    {},
                                    [](const Parameters&) { return std::make_unique<NoContention>(); }});

}  // namespace
}  // namespace straggler::cluster::sharing_none
