#include "validation/mpi/rank_clock.hpp"

#include <algorithm>
#include <chrono>

namespace straggler {

namespace {

template <class Clock>
std::int64_t ns_of() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

Time RankClock::now() const { return Time::from_ticks((ns_of<std::chrono::steady_clock>() - zero_ns_) * 1000); }

void RankClock::start(Channel& channel, Rank root) {
  zero_ns_ = channel.agree_on_start();
  if (!began_) return;
  const std::int64_t since_start = ns_of<std::chrono::steady_clock>() - zero_ns_;
  Packer packer;
  packer.put(std::max<std::int64_t>(ns_of<std::chrono::system_clock>() - *began_ - since_start, 0));
  const Bytes earlier = channel.share(packer.take(), root);
  const auto earlier_ns = Unpacker(earlier).get<std::int64_t>();
  zero_ns_ -= earlier_ns;
  start_ = Time::from_ticks(earlier_ns * 1000);
}

}  // namespace straggler
