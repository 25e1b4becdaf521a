// How long to sleep before looking for messages again: 1/32 of the time for which nothing has happened, so that an answer is little delayed
// and waiting does not occupy a core.
#pragma once
#include <algorithm>
#include <chrono>

namespace straggler {

inline constexpr std::chrono::nanoseconds least_pause = std::chrono::microseconds(20);
constexpr std::chrono::nanoseconds pause_after(std::chrono::nanoseconds idle, std::chrono::nanoseconds most) {
  return std::clamp(idle / 32, least_pause, most);
}

class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  void happened() { since_ = Clock::now(); }
  std::chrono::nanoseconds pause() const { return pause_after(Clock::now() - since_, std::chrono::milliseconds(2)); }

 private:
  Clock::time_point since_ = Clock::now();
};

}  // namespace straggler
