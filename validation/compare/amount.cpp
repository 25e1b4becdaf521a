#include "validation/compare/amount.hpp"

#include <stdexcept>

#include "sim/base/readable.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {
constexpr Dimension dimensions[] = {Dimension::time, Dimension::bytes, Dimension::rate, Dimension::compute};

/// The blank keeps a unit from being read as part of the number.
std::string one_of(std::string_view unit) { return "1 " + std::string(unit); }
}  // namespace

Amount parse_amount(std::string_view text) {
  for (const Dimension dimension : dimensions) {
    try {
      return {parse_quantity(text, dimension), dimension};
    } catch (const std::invalid_argument&) {
    }
  }
  try {
    return {parse_fraction(text), std::nullopt};
  } catch (const std::invalid_argument&) {
    throw std::invalid_argument(in_quotes(text) + " is neither a number nor a quantity; write a value such as 0.5, 10ms, 25MiB or 1Gbps");
  }
}

std::string format_amount(double value, std::optional<Dimension> dimension) {
  return dimension ? format_quantity(value, *dimension) : format_number(value);
}

std::string readable_amount(double value, std::optional<Dimension> dimension) {
  if (!dimension) return readable_number(value);
  switch (*dimension) {
    case Dimension::time:
      return readable_seconds(value);
    case Dimension::bytes:
      return readable_bytes(value);
    case Dimension::rate:
      return readable_bytes(value) + "/s";
    case Dimension::compute:
      return readable_number(value / 1e9) + " GFLOPS";
    case Dimension::amount:
      return readable_number(value);
  }
  throw std::logic_error("no such dimension");
}

double unit_factor(std::string_view unit) {
  if (unit.empty()) return 1;
  if (unit == "%") return 0.01;
  if (const auto dimension = unit_dimension(unit)) return parse_quantity(one_of(unit), *dimension);
  std::vector<std::string> known{"%"};
  for (const Dimension dimension : dimensions)
    for (const std::string& each : units_of(dimension)) known.push_back(each);
  throw std::invalid_argument(unknown_name("unit", unit, known));
}

std::optional<Dimension> unit_dimension(std::string_view unit) {
  for (const Dimension dimension : dimensions)
    if (has_unit_of(one_of(unit), dimension)) return dimension;
  return std::nullopt;
}

const char* noun_of(std::optional<Dimension> dimension) { return dimension ? noun_of(*dimension) : "a plain number"; }

}  // namespace straggler
