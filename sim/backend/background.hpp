// Flows that come and go whatever training does, and share its links.
#pragma once
#include <vector>

#include "sim/backend/simulated_backend.hpp"

namespace straggler {

/// Ends by itself when nothing else is going to happen: a deadlock is not hidden by traffic that goes on for ever.
class SimulatedBackend::Background final {
 public:
  explicit Background(SimulatedBackend& backend) : backend_(backend) {}
  ~Background();
  void begin();
  /// Flows and timers of its own.
  std::size_t flows() const { return flows_; }
  std::size_t stories() const { return stories_; }

 private:
  /// A flow that is taken off before it could end.
  struct Endless final : Arrival {
    void arrived() override {}
  };
  Process story(const BackgroundTraffic& traffic, std::size_t number);
  bool alone() const;

  SimulatedBackend& backend_;
  Endless endless_;
  std::vector<FlowId> on_;  // by number; 0: off
  std::size_t flows_ = 0, stories_ = 0;
};

}  // namespace straggler
