// Numbers, times and text as result files have them.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/engine/time.hpp"

namespace straggler {

/// Two digits: "00", "01", … "99".
constexpr std::array<char, 200> digit_pairs = [] {
  std::array<char, 200> all{};
  for (std::size_t i = 0; i < 100; ++i) {
    all[2 * i] = static_cast<char>('0' + i / 10);
    all[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return all;
}();

/// Of 10,000 and more.
char* write_large_count(char* at, std::uint64_t value);
/// Decimal digits of `value` from `at` on; returns the end. At most 20 bytes.
inline char* write_count(char* at, std::uint64_t value) {
  if (value >= 10'000) return write_large_count(at, value);
  if (value >= 100) {
    const std::uint64_t high = value / 100;
    if (high >= 10) *at++ = digit_pairs[2 * high];
    *at++ = digit_pairs[2 * high + 1];
    value -= 100 * high;
  } else if (value < 10) {
    *at = static_cast<char>('0' + value);
    return at + 1;
  }
  at[0] = digit_pairs[2 * value];
  at[1] = digit_pairs[2 * value + 1];
  return at + 2;
}
/// Exactly `units` divided by 10^decimals, without trailing zeros ("12", "0.0000000215"). At most 22 + decimals bytes. For 0, 6 and 12
/// decimals.
template <int decimals>
char* write_decimal(char* at, std::int64_t units);
/// Seconds of a time, exact to the tick. At most 34 bytes.
inline char* write_seconds(char* at, Time time) { return write_decimal<12>(at, time.ticks()); }

/// The text of number_text(). At most 32 bytes.
char* write_number(char* at, double value);

std::string seconds_text(Time time);
/// Shortest text that reads back as exactly this double; "nan", "inf" and "-inf" for values that are not finite.
std::string number_text(double value);

/// A JSON string, quotes included.
std::string json_text(std::string_view text);
/// A JSON number; null for values that are not finite.
std::string json_number(double value);
}  // namespace straggler
