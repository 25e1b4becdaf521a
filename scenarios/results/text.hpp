// Numbers, times and text as result files have them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/engine/time.hpp"

namespace straggler {

/// Decimal digits of `value` from `at` on; returns the end. At most 20 bytes.
char* write_count(char* at, std::uint64_t value);
/// Exactly `units` divided by 10^decimals, without trailing zeros ("12", "0.0000000215"). At most 22 + decimals bytes.
char* write_decimal(char* at, std::int64_t units, int decimals);
/// Seconds of a time, exact to the tick. At most 34 bytes.
inline char* write_seconds(char* at, Time time) { return write_decimal(at, time.ticks(), 12); }

/// What number_text() returns. At most 32 bytes.
char* write_number(char* at, double value);

std::string seconds_text(Time time);
/// Shortest text that reads back as exactly this double; "nan", "inf" and "-inf" for what is not finite.
std::string number_text(double value);

/// A JSON string, quotes included.
std::string json_text(std::string_view text);
/// A JSON number; null for what is not finite.
std::string json_number(double value);
}  // namespace straggler
