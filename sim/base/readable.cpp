#include "sim/base/readable.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace straggler {

namespace {

template <class... Arguments>
std::string printed(const char* format, Arguments... arguments) {
  char buffer[400];  // more than the 310 digits of the largest double
  const int length = std::snprintf(buffer, sizeof buffer, format, arguments...);
  return {buffer, static_cast<std::size_t>(length)};
}

std::string number(const char* format, double value) { return std::isnan(value) ? "nan" : printed(format, value); }

/// `value` scaled by the largest of `units` (each `step` times the last) that leaves at least 1.
template <std::size_t n>
std::string scaled(double value, double step, const char* const (&units)[n]) {
  std::size_t unit = 0;
  // 999.5 would round up to four digits of the smaller unit.
  while (unit + 1 < n && std::abs(value) >= 0.9995 * step) {
    value /= step;
    ++unit;
  }
  return number("%.3g", value) + " " + units[unit];
}

}  // namespace

std::string readable_seconds(double seconds) {
  if (!std::isfinite(seconds)) return number("%g", seconds);
  if (seconds == 0) return "0 s";
  if (std::abs(seconds) < 1) {
    static constexpr const char* units[] = {"ps", "ns", "us", "ms", "s"};
    return scaled(seconds * 1e12, 1000, units);
  }
  if (seconds < 999.5) return number("%.3g s", seconds);
  const long long whole = std::llround(seconds);
  if (whole < 3600) return printed("%lld min %02lld s", whole / 60, whole % 60);
  const long long minutes = std::llround(seconds / 60);
  if (minutes < 48 * 60) return printed("%lld h %02lld min", minutes / 60, minutes % 60);
  return number("%.1f days", seconds / 86'400);
}

std::string readable_bytes(double bytes) {
  static constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  return scaled(bytes, 1000, units);
}

std::string readable_rate(double bytes_per_second) { return readable_bytes(bytes_per_second) + "/s"; }

std::string readable_watts(double watts) {
  static constexpr const char* units[] = {"mW", "W", "kW", "MW", "GW"};
  return scaled(watts * 1e3, 1000, units);
}

std::string readable_joules(double joules) {
  static constexpr const char* units[] = {"mJ", "J", "kJ", "MJ", "GJ", "TJ"};
  return scaled(joules * 1e3, 1000, units);
}

std::string readable_joules_per_byte(double value) {
  static constexpr const char* units[] = {"pJ/B", "nJ/B", "uJ/B", "mJ/B", "J/B"};
  return scaled(value * 1e12, 1000, units);
}

std::string readable_price(double price) {
  if (!std::isfinite(price)) return number("%g", price);
  if (std::abs(price) < 0.995) return number("%.3g", price);
  if (std::abs(price) < 999.995) return number("%.2f", price);
  if (std::abs(price) >= 1e15) return number("%.4g", price);
  return (price < 0 ? "-" : "") + readable_count(static_cast<std::uint64_t>(std::llround(std::abs(price))));
}

std::string readable_number(double value) { return number(std::abs(value) >= 1000 && std::abs(value) < 1e15 ? "%.0f" : "%.4g", value); }

std::string readable_score(double value) { return number(std::abs(value) < 10'000 ? "%.4f" : "%.3g", value); }

std::string readable_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string readable_share(double share) { return number("%.1f %%", 100 * share); }

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - row[c].size(), ' ');
      line += c < left ? row[c] + padding + "  " : padding + row[c] + "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace straggler
