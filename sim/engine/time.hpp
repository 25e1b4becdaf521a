// Simulated time: a signed 64-bit count of picoseconds.
#pragma once
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace straggler {

/// A point in simulated time or a span of it. Picoseconds, because 100 Gbit/s moves a byte in 80 of them.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time from_ticks(std::int64_t picoseconds) { return Time(picoseconds); }
  /// The only conversion of floating-point seconds to ticks (nearest). Throws TimeOverflow beyond 100 days or if not finite.
  static Time from_seconds(double seconds);
  /// Smallest whole tick not before `picoseconds`, which may be off by rounding (a thousandth of a tick is forgiven).
  static Time round_up(double picoseconds);
  static constexpr Time never() { return Time(std::numeric_limits<std::int64_t>::max()); }
  /// A run that would pass this is refused.
  static constexpr Time limit() { return Time(100LL * 86'400 * ticks_per_second); }

  constexpr std::int64_t ticks() const { return ticks_; }
  constexpr double seconds() const { return static_cast<double>(ticks_) / static_cast<double>(ticks_per_second); }
  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time operator+(Time o) const { return Time(ticks_ + o.ticks_); }
  constexpr Time operator-(Time o) const { return Time(ticks_ - o.ticks_); }
  constexpr Time& operator+=(Time o) {
    ticks_ += o.ticks_;
    return *this;
  }
  constexpr Time& operator-=(Time o) {
    ticks_ -= o.ticks_;
    return *this;
  }

  static constexpr std::int64_t ticks_per_second = 1'000'000'000'000;

 private:
  explicit constexpr Time(std::int64_t ticks) : ticks_(ticks) {}
  std::int64_t ticks_ = 0;
};

struct TimeOverflow : std::range_error {
  using std::range_error::range_error;
};

inline Time Time::round_up(double picoseconds) {
  const double least = picoseconds - 1e-3;
  if (!(least < static_cast<double>(limit().ticks()))) throw TimeOverflow("simulated time passes 100 days");
  const auto whole = static_cast<std::int64_t>(least);  // towards 0; beyond 2^53 every value is an integer
  return Time(whole + (static_cast<double>(whole) < least ? 1 : 0));
}

inline Time Time::from_seconds(double seconds) {
  const double ticks = seconds * static_cast<double>(ticks_per_second);
  if (!(std::abs(ticks) <= static_cast<double>(limit().ticks()))) throw TimeOverflow("simulated time passes 100 days");
  return Time(std::llround(ticks));
}

}  // namespace straggler
