#include "scenarios/results/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace straggler {

char* write_count(char* at, std::uint64_t value) { return std::to_chars(at, at + 20, value).ptr; }

char* write_decimal(char* at, std::int64_t units, int decimals) {
  std::uint64_t rest = static_cast<std::uint64_t>(units);
  if (units < 0) {
    *at++ = '-';
    rest = ~rest + 1;  // also right for the smallest number
  }
  std::uint64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  at = write_count(at, rest / scale);
  std::uint64_t fraction = rest % scale;
  if (fraction == 0) return at;
  *at++ = '.';
  for (std::uint64_t few = fraction / 1000; few * 1000 == fraction; few = fraction / 1000) {  // most are of few digits
    fraction = few;
    decimals -= 3;
  }
  char* const end = at + decimals;
  for (char* digit = end; digit != at; fraction /= 10) *--digit = static_cast<char>('0' + fraction % 10);
  char* last = end;
  while (last[-1] == '0') --last;
  return last;
}

char* write_number(char* at, double value) {
  if (value >= 0 && value < 1e15) {  // most are whole, and digits of whole numbers cost next to nothing
    const auto whole = static_cast<std::uint64_t>(value);
    if (static_cast<double>(whole) == value && !(value == 0 && std::signbit(value))) return write_count(at, whole);
  }
  const std::string text = number_text(value);
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
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

bool plain_csv(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; });
}

std::string csv_text(std::string_view text) {
  if (plain_csv(text)) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

namespace {

/// `value` scaled by the largest of `units` (each `step` times the last) that leaves at least 1.
template <std::size_t n>
std::string scaled(double value, double step, const char* const (&units)[n]) {
  std::size_t unit = 0;
  // 999.5 would round up to four digits of the smaller unit.
  while (unit + 1 < n && std::abs(value) >= 0.9995 * step) {
    value /= step;
    ++unit;
  }
  return fmt::format("{:.3g} {}", value, units[unit]);
}

}  // namespace

std::string readable_seconds(double seconds) {
  if (!std::isfinite(seconds)) return number_text(seconds);
  if (seconds == 0) return "0 s";
  if (std::abs(seconds) < 1) {
    static constexpr const char* units[] = {"ps", "ns", "us", "ms", "s"};
    return scaled(seconds * 1e12, 1000, units);
  }
  if (seconds < 999.5) return fmt::format("{:.3g} s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const auto minutes = std::llround(seconds / 60);
  if (minutes < 48 * 60) return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  return fmt::format("{:.1f} days", seconds / 86'400);
}

std::string readable_bytes(double bytes) {
  static constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  return scaled(bytes, 1000, units);
}

std::string readable_number(double value) {
  if (std::abs(value) >= 1000 && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string readable_score(double value) {
  if (std::isnan(value)) return number_text(value);
  return std::abs(value) < 10'000 ? fmt::format("{:.4f}", value) : fmt::format("{:.3g}", value);
}

std::string readable_count(std::uint64_t count) {
  std::string digits = fmt::format("{}", count);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string readable_share(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace straggler
