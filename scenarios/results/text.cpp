#include "scenarios/results/text.hpp"

#include <fmt/format.h>

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

}  // namespace straggler
