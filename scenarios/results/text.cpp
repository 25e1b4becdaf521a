#include "scenarios/results/text.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace straggler {

char* write_large_count(char* at, std::uint64_t value) {
  const std::uint64_t high = value / 10'000, low = value - 10'000 * high;
  at = write_count(at, high);
  std::memcpy(at, &digit_pairs[2 * (low / 100)], 2);
  std::memcpy(at + 2, &digit_pairs[2 * (low % 100)], 2);
  return at + 4;
}

namespace {

constexpr std::uint64_t power_of_ten(int exponent) { return exponent == 0 ? 1 : 10 * power_of_ten(exponent - 1); }

}  // namespace

template <int decimals>
char* write_decimal(char* at, std::int64_t units) {
  constexpr std::uint64_t scale = power_of_ten(decimals);
  static_assert(decimals % 2 == 0);
  std::uint64_t rest = static_cast<std::uint64_t>(units);
  if (units < 0) {
    *at++ = '-';
    rest = ~rest + 1;  // also right for the smallest number
  }
  at = write_count(at, rest / scale);
  std::uint64_t fraction = rest % scale;
  if (fraction == 0) return at;
  *at++ = '.';
  for (int k = decimals - 2; k >= 0; k -= 2, fraction /= 100) std::memcpy(at + k, &digit_pairs[2 * (fraction % 100)], 2);
  char* last = at + decimals;
  while (last[-1] == '0') --last;
  return last;
}

template char* write_decimal<0>(char*, std::int64_t);
template char* write_decimal<6>(char*, std::int64_t);
template char* write_decimal<12>(char*, std::int64_t);

char* write_number(char* at, double value) {
  if (value >= 0 && value < 1e15) {  // most are whole, and digits of whole numbers cost next to nothing
    const auto whole = static_cast<std::uint64_t>(value);
    if (static_cast<double>(whole) == value && !(value == 0 && std::signbit(value))) return write_count(at, whole);
  }
  if (std::isnan(value)) return std::copy_n("nan", 3, at);
  return fmt::format_to(at, FMT_COMPILE("{}"), value);  // as number_text() has it, without reading a format and without a string
}

std::string seconds_text(Time time) {
  char buffer[40];
  return {buffer, write_seconds(buffer, time)};
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  return fmt::format("{}", value);
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

}  // namespace straggler
