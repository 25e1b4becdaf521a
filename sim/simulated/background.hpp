// Background flows, which switch on and off independently of training and share its links.
#pragma once
#include <vector>

#include "sim/simulated/world.hpp"

namespace straggler {

/// Ends when no other events are left, so that endless traffic does not hide a deadlock.
class Background final {
 public:
  /// `world` outlives this.
  explicit Background(World& world) : world_(world) {}
  ~Background();
  void begin();

 private:
  /// A flow that is switched off before it could end.
  struct Endless final : Arrival {
    void arrived() override {}
  };
  Process run(const BackgroundTraffic& traffic, std::size_t number);

  World& world_;
  Endless endless_;
  std::vector<FlowId> on_;  // by number; 0: off
};

}  // namespace straggler
