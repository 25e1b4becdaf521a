// How long to sleep before looking for messages again: a thirty-second of the time for which nothing has happened, so that an answer is
// late by little and waiting takes no core.
#pragma once
#include <algorithm>
#include <chrono>

namespace straggler {

class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  void happened() { since_ = Clock::now(); }
  std::chrono::nanoseconds pause() const {
    constexpr std::chrono::nanoseconds least = std::chrono::microseconds(20), most = std::chrono::milliseconds(2);
    return std::clamp<std::chrono::nanoseconds>((Clock::now() - since_) / 32, least, most);
  }

 private:
  Clock::time_point since_ = Clock::now();
};

}  // namespace straggler
