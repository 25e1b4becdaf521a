// Cores that handle the messages of all ranks.
#pragma once
#include <cstddef>
#include <vector>

#include "sim/engine/time.hpp"

namespace straggler {

/// First come, first served: work goes to the core that has been free for the shortest time when it may begin; if none is free, to the one
/// that is free first. Work keeps its core to its end.
class CorePool {
 public:
  /// At least one.
  explicit CorePool(std::size_t cores) : free_(cores) {}
  /// Returns the end of work of `span` that may begin at `ready`. O(cores).
  Time run(Time ready, Time span) {
    std::size_t best = 0;
    for (std::size_t core = 1; core < free_.size(); ++core) {
      const bool idle = free_[core] <= ready, best_idle = free_[best] <= ready;
      if (idle ? !best_idle || free_[core] > free_[best] : !best_idle && free_[core] < free_[best]) best = core;
    }
    const Time begin = ready < free_[best] ? free_[best] : ready;
    return free_[best] = begin + span;
  }

 private:
  std::vector<Time> free_;  // [cores] since when, or from when on
};

}  // namespace straggler
