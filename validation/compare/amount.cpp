#include "validation/compare/amount.hpp"

#include <stdexcept>

#include "sim/base/readable.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/units.hpp"

namespace straggler {

namespace {
/// Those whose numbers have a unit.
std::vector<const DimensionRow*> rows_with_units() {
  std::vector<const DimensionRow*> rows;
  for (const DimensionRow& row : dimensions())
    if (!row.bare) rows.push_back(&row);
  return rows;
}

/// The blank keeps a unit from being read as part of the number.
std::string one_of(std::string_view unit) { return "1 " + std::string(unit); }
}  // namespace

Amount parse_amount(std::string_view text) {
  for (const DimensionRow* const row : rows_with_units()) {
    try {
      return {parse_quantity(text, row->dimension), row->dimension};
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
  return dimension ? row_of(*dimension).readable(value) : readable_number(value);
}

double unit_factor(std::string_view unit) {
  if (unit.empty()) return 1;
  if (unit == "%") return 0.01;
  if (const auto dimension = unit_dimension(unit)) return parse_quantity(one_of(unit), *dimension);
  std::vector<std::string> known{"%"};
  for (const DimensionRow* const row : rows_with_units())
    for (const std::string& each : units_of(row->dimension)) known.push_back(each);
  throw std::invalid_argument(unknown_name("unit", unit, known));
}

std::optional<Dimension> unit_dimension(std::string_view unit) {
  for (const DimensionRow* const row : rows_with_units())
    if (has_unit_of(one_of(unit), row->dimension)) return row->dimension;
  return std::nullopt;
}

const char* noun_of(std::optional<Dimension> dimension) { return dimension ? noun_of(*dimension) : "a plain number"; }

}  // namespace straggler
