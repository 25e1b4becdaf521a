#include "sim/base/quantity.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>

#include "sim/base/ascii.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "sim/base/units.hpp"

namespace straggler {

namespace {

/// The unit of this name; null if there is none.
const Unit* find_unit(std::string_view name, Dimension dimension) {
  const std::span<const Unit> units = row_of(dimension).units;
  const auto is_named = [&](const char* known) { return known != nullptr && name == known; };
  const auto found =
      std::ranges::find_if(units, [&](const Unit& unit) { return is_named(unit.name) || std::ranges::any_of(unit.also, is_named); });
  return found == units.end() ? nullptr : &*found;
}

constexpr std::string_view blanks = " \t";

/// The decimal number in front of a text: sign, mantissa, exponent, and how many characters it takes (0: there is none).
struct Decimal {
  bool negative = false;
  std::string_view mantissa;
  long exponent = 0;
  std::size_t length = 0;
};

Decimal scan_decimal(std::string_view text) {
  Decimal out;
  std::size_t at = 0, digits = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) out.negative = text[at++] == '-';
  const std::size_t start = at;
  for (; at < text.size() && is_digit(text[at]); ++at) ++digits;
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && is_digit(text[at]); ++at) ++digits;
  }
  if (digits == 0) return {};
  out.mantissa = text.substr(start, at - start);
  out.length = at;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t end = at + 1;
    const bool minus = end < text.size() && text[end] == '-';
    if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
    const std::size_t first = end;
    long exponent = 0;
    for (; end < text.size() && is_digit(text[end]); ++end) {
      if (exponent < 100'000) exponent = exponent * 10 + (text[end] - '0');
    }
    if (end > first) {
      out.exponent = minus ? -exponent : exponent;
      out.length = end;
    }
  }
  return out;
}

bool all_zero(std::string_view mantissa) { return mantissa.find_first_of("123456789") == std::string_view::npos; }

/// mantissa · 10^exponent · factor, rounded once but for the factor. Throws if it is beyond a double.
double value_of(const Decimal& decimal, int exponent, double factor, std::string_view written) {
  if (all_zero(decimal.mantissa)) return 0.0;
  double value = 0;
  std::errc error{};
  if (decimal.exponent == 0 && exponent == 0) {  // as files have it: nothing to put together
    error = std::from_chars(decimal.mantissa.data(), decimal.mantissa.data() + decimal.mantissa.size(), value).ec;
  } else {
    const std::string text = std::string(decimal.mantissa) + "e" + std::to_string(decimal.exponent + exponent);
    error = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  }
  value *= factor;
  if (error != std::errc() || !std::isfinite(value) || value == 0)
    throw std::invalid_argument(in_quotes(written) + " is beyond what a number can hold; write a finite number");
  return decimal.negative ? -value : value;
}

[[noreturn]] void refuse_not_a_number(std::string_view text, const std::string& remedy) {
  std::string_view bare = text;
  if (!bare.empty() && (bare.front() == '-' || bare.front() == '+')) bare.remove_prefix(1);
  if (!bare.empty() && bare.front() == '.') bare.remove_prefix(1);
  std::string word;
  for (const char c : bare.substr(0, 9)) word += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (word.starts_with("inf") || word == "nan") throw std::invalid_argument(in_quotes(text) + " is not finite; " + remedy);
  throw std::invalid_argument((text.empty() ? std::string("empty") : in_quotes(text)) + " is not a number; " + remedy);
}

std::string offers(std::string_view number, Dimension dimension) {
  const std::span<const Unit> units = row_of(dimension).units;
  std::string all;
  for (std::size_t i = 0; i < units.size(); ++i) {
    all += (i == 0 ? "" : i + 1 == units.size() ? " or " : ", ") + std::string(number) + units[i].name;
  }
  return all;
}

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// A rate as we write it, in lower case: a small b is of bits, a capital one of bytes.
std::string usual_rate(std::string_view unit) {
  constexpr std::pair<std::string_view, std::string_view> ends[] = {{"bits/s", "bps"}, {"bit/s", "bps"}, {"bit", "bps"}, {"b/s", "bps"},
                                                                    {"b", "bps"},      {"Bps", "b/s"},   {"B", "b/s"}};
  for (const auto& [other, ours] : ends)
    if (unit.ends_with(other)) return in_lower_case(unit.substr(0, unit.size() - other.size())).append(ours);
  return in_lower_case(unit);
}

/// The unit that another way of writing means; empty if none.
std::string meant_unit(std::string_view unit, Dimension dimension) {
  if (unit.size() > 16) return {};
  const std::string word = dimension == Dimension::rate ? usual_rate(unit) : in_lower_case(unit);
  for (const OtherUnit& one : row_of(dimension).others)
    if (word == one.other || word == std::string(one.other) + "s") return std::string(one.ours);
  for (const Unit& known : row_of(dimension).units)
    if (in_lower_case(known.name) == word) return known.name;
  return {};
}

/// The shortest decimal digits of a positive finite double, and where the point goes: 0.d1d2d3… · 10^point.
struct Digits {
  std::string digits;
  int point = 0;
};

Digits shortest_digits(double value) {
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  Digits out;
  for (const char c : text.substr(0, e))
    if (is_digit(c)) out.digits += c;
  out.point = std::stoi(std::string(text.substr(e + 1))) + 1;
  return out;
}

/// The digits as plain decimal text, or with an exponent where plain text would be longer.
std::string plain(const Digits& d) {
  const int count = static_cast<int>(d.digits.size());
  const int plain_length = d.point <= 0 ? 2 - d.point + count : d.point >= count ? d.point : count + 1;
  std::string scientific = d.digits.substr(0, 1);
  if (count > 1) scientific += "." + d.digits.substr(1);
  scientific += "e" + std::to_string(d.point - 1);
  if (plain_length > static_cast<int>(scientific.size()) + 3) return scientific;
  if (d.point <= 0) return "0." + std::string(static_cast<std::size_t>(-d.point), '0') + d.digits;
  if (d.point >= count) return d.digits + std::string(static_cast<std::size_t>(d.point - count), '0');
  return d.digits.substr(0, static_cast<std::size_t>(d.point)) + "." + d.digits.substr(static_cast<std::size_t>(d.point));
}

}  // namespace

const char* noun_of(Dimension dimension) { return row_of(dimension).noun; }

std::vector<std::string> units_of(Dimension dimension) {
  std::vector<std::string> names;
  for (const Unit& unit : row_of(dimension).units)
    if (*unit.name != '\0') names.emplace_back(unit.name);
  return names;
}

double parse_quantity(std::string_view raw, Dimension dimension) {
  const std::string_view text = trimmed(raw, blanks);
  const Decimal decimal = scan_decimal(text);
  const std::string_view number = text.substr(0, decimal.length), unit = trimmed(text.substr(decimal.length), blanks);
  if (decimal.length == 0) refuse_not_a_number(text, "write " + std::string(noun_of(dimension)) + " such as " + offers("10", dimension));
  if (unit.empty() && !row_of(dimension).bare) {
    const std::string_view shown = decimal.negative || number.size() > 20 ? "10" : number;
    throw std::invalid_argument(std::string(number.substr(0, 60)) + " has no unit; write " + offers(shown, dimension));
  }
  if (const Unit* const known = find_unit(unit, dimension)) {
    if (decimal.negative && !all_zero(decimal.mantissa))
      throw std::invalid_argument(in_quotes(text) + " is negative; write " + noun_of(dimension) + " of 0 or more");
    return value_of(decimal, known->exponent, known->factor, text);
  }
  const std::string meant = meant_unit(unit, dimension);
  throw std::invalid_argument(in_quotes(text) + " has an unknown unit " + in_quotes(unit) +
                              (meant.empty() ? ";" : "; did you mean '" + meant + "'?") + " units of " + noun_of(dimension) + ": " +
                              joined(units_of(dimension)));
}

bool has_unit_of(std::string_view raw, Dimension dimension) {
  const std::string_view text = trimmed(raw, blanks);
  const Decimal decimal = scan_decimal(text);
  const std::string_view unit = trimmed(text.substr(decimal.length), blanks);
  return decimal.length > 0 && find_unit(unit, dimension) != nullptr;
}

std::string format_quantity(double value, Dimension dimension) {
  if (!(value >= 0) || !std::isfinite(value)) throw std::logic_error("format_quantity: not a quantity");
  const std::span<const Unit> units = row_of(dimension).units;
  if (value == 0) return std::string("0") + units.front().name;
  std::string best;
  std::tuple<bool, std::size_t, bool> least;  // an exponent, then length, then a point: each harder to read
  for (const Unit& unit : units) {
    if (!unit.written) continue;
    const double scaled = value / unit.factor;
    if (!std::isfinite(scaled) || scaled == 0 || scaled * unit.factor != value) continue;
    Digits digits = shortest_digits(scaled);
    digits.point -= unit.exponent;
    const std::string number = plain(digits);
    const std::tuple cost(number.find('e') != std::string::npos, number.size() + std::string_view(unit.name).size(),
                          number.find('.') != std::string::npos);
    if (!best.empty() && cost >= least) continue;
    best = number + unit.name;
    least = cost;
  }
  return best;
}

double parse_number(std::string_view raw) {
  const std::string_view text = trimmed(raw, blanks);
  const Decimal decimal = scan_decimal(text);
  if (decimal.length == 0) refuse_not_a_number(text, "write a plain number such as 0.5");
  if (decimal.length != text.size()) {
    throw std::invalid_argument(in_quotes(text) + " is not a plain number; write it without " +
                                in_quotes(trimmed(text.substr(decimal.length), blanks)));
  }
  return value_of(decimal, 0, 1, text);
}

std::string format_number(double value) {
  if (value == 0) return "0";
  if (!std::isfinite(value)) throw std::logic_error("format_number: not finite");
  return (value < 0 ? "-" : "") + plain(shortest_digits(std::fabs(value)));
}

double parse_fraction(std::string_view raw) {
  const std::string_view text = trimmed(raw, blanks);
  if (text.empty() || text.back() != '%') return parse_number(text);
  const std::string_view number = trimmed(text.substr(0, text.size() - 1), blanks);
  const Decimal decimal = scan_decimal(number);
  if (decimal.length == 0 || decimal.length != number.size()) refuse_not_a_number(text, "write a share such as 0.5 or 50%");
  return value_of(decimal, -2, 1, text);
}

namespace {
template <class Integer>
Integer parse_integer(std::string_view raw, const std::string& remedy) {
  std::string_view text = trimmed(raw, blanks);
  const std::string_view written = text;
  if (text.starts_with('+')) text.remove_prefix(1);
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return value;
  const Decimal decimal = scan_decimal(written);
  if (decimal.length == 0) refuse_not_a_number(written, remedy);
  if (decimal.length != written.size())
    throw std::invalid_argument(in_quotes(written) + " is not a plain number; write it without " +
                                in_quotes(trimmed(written.substr(decimal.length), blanks)));
  if (error == std::errc::result_out_of_range) throw std::invalid_argument(in_quotes(written) + " is too large a number; " + remedy);
  if (decimal.negative && std::numeric_limits<Integer>::min() == 0)
    throw std::invalid_argument(in_quotes(written) + " is negative; " + remedy);
  throw std::invalid_argument(in_quotes(written) + " is not a whole number written in digits; " + remedy);
}
}  // namespace

std::int64_t parse_count(std::string_view text) { return parse_integer<std::int64_t>(text, "write a whole number such as 8"); }

std::uint64_t parse_unsigned(std::string_view text) {
  return parse_integer<std::uint64_t>(text, "write a whole number from 0 to 18446744073709551615");
}

bool parse_boolean(std::string_view raw) {
  const std::string_view text = trimmed(raw, blanks);
  if (text == "true") return true;
  if (text == "false") return false;
  throw std::invalid_argument((text.empty() ? std::string("empty") : in_quotes(text)) + " is neither true nor false; write true or false");
}

}  // namespace straggler
