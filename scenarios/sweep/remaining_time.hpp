// Estimates the remaining time of points from the finished ones.
#pragma once
#include <algorithm>
#include <optional>

#include "scenarios/sweep/point_pool.hpp"

namespace straggler {

/// Between two ends of points the estimate falls as time passes; at an end it changes by the time of that point.
class RemainingTime {
 public:
  /// Seconds from `seconds` on (both since the start); none before a point of this run has ended.
  std::optional<double> estimate(const SweepProgress& now, double seconds) {
    const std::size_t ended = now.finished - now.found + now.failed;
    if (ended == 0) return std::nullopt;
    if (ended != ended_) {
      ended_ = ended;
      at_ = seconds;
    }
    const double each = at_ / static_cast<double>(ended);
    const std::size_t left = now.points - now.finished - now.failed;
    // However long the running points will take, the others are still to come.
    const double least = each * static_cast<double>(left - std::min(left, now.running));
    return std::max(each * static_cast<double>(left) - (seconds - at_), least);
  }

 private:
  std::size_t ended_ = 0;
  double at_ = 0;  // when the last one ended
};

}  // namespace straggler
