// How long to sleep before looking for messages again: 1/32 of the time for which nothing has happened, so that an answer is little delayed
// and waiting does not occupy a core.
#pragma once
#include <algorithm>
#include <chrono>

namespace straggler {

class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::nanoseconds least = std::chrono::microseconds(20);
  void happened() { since_ = Clock::now(); }
  std::chrono::nanoseconds pause(std::chrono::nanoseconds most = std::chrono::milliseconds(2)) const {
    return std::clamp((Clock::now() - since_) / 32, least, most);
  }
  /// Of a rank that messages wake: it looks for itself after as long again, since MPI may keep one back until its sender looks.
  static constexpr std::chrono::nanoseconds asleep = std::chrono::milliseconds(2);
  std::chrono::nanoseconds rest() const { return std::clamp<std::chrono::nanoseconds>(Clock::now() - since_, asleep, 10 * asleep); }

 private:
  Clock::time_point since_ = Clock::now();
};

}  // namespace straggler
