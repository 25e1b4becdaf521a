// Links whose bandwidth varies with time, as in a shared network.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/compute.hpp"
#include "sim/simulated/world.hpp"

namespace straggler {

/// Each directed link of a host's card has a factor for every span of `link_jitter.every`: its bandwidth is the cluster's divided by that
/// factor. Ends when no other events are left.
class VaryingLinks final {
 public:
  /// `world` outlives this.
  explicit VaryingLinks(World& world);
  void begin();

 private:
  struct Link {
    LinkId id;
    double bytes_per_second;
    std::uint64_t stream;
    std::unique_ptr<Jitter> jitter;
  };
  Process run();
  void draw(std::uint64_t span);

  World& world_;
  std::vector<Link> links_;
};

}  // namespace straggler
