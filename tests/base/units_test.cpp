// The rows of units, each by what it says of itself.
#include "sim/base/units.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>

using namespace straggler;

TEST_CASE("each dimension and each type has one row, and units that are told apart") {
  std::set<ValueType> types;
  std::set<std::string> names, nouns;
  for (const DimensionRow& row : dimensions()) {
    CAPTURE(row.noun);
    CHECK(&row_of(row.dimension) == &row);
    CHECK(row_of(row.type) == &row);
    CHECK(types.insert(row.type).second);
    CHECK(names.insert(row.name).second);
    CHECK(nouns.insert(row.noun).second);
    CHECK(noun_of(row.dimension) == std::string(row.noun));
    CHECK(name_of(row.type) == row.noun);
    std::set<std::string> units;
    for (const Unit& unit : row.units) {
      CHECK(units.insert(unit.name).second);
      for (const char* const other : unit.also)
        if (other != nullptr) CHECK(units.insert(other).second);
      CHECK((row.bare || *unit.name != '\0'));
    }
  }
  for (const ValueType type : {ValueType::count, ValueType::number, ValueType::fraction, ValueType::choice, ValueType::rows})
    CHECK(row_of(type) == nullptr);
}

TEST_CASE("a number in each unit is its factor, is written back exactly, and the example of a row can be read") {
  for (const DimensionRow& row : dimensions()) {
    for (const Unit& unit : row.units) {
      const std::string text = "12.5 " + std::string(unit.name);
      CAPTURE(text);
      const double value = parse_quantity(text, row.dimension);
      CHECK(value == doctest::Approx(12.5 * unit.factor * std::pow(10, unit.exponent)).epsilon(1e-15));
      CHECK(parse_quantity(format_quantity(value, row.dimension), row.dimension) == value);
      if (!row.bare) CHECK(has_unit_of(text, row.dimension));
    }
    for (const OtherUnit& other : row.others) {
      std::string said;
      try {
        parse_quantity("3 " + std::string(other.other), row.dimension);
      } catch (const std::invalid_argument& error) {
        said = error.what();
      }
      CAPTURE(other.other);
      if (!said.empty()) CHECK(said.find("did you mean '" + std::string(other.ours) + "'?") != std::string::npos);
    }
    const std::string example = row.example;
    const Parameter parameter{.name = "x", .type = row.type};
    const Value value = parse_value(parameter, example.substr(0, example.find(" or ")));
    CHECK(std::get<double>(parse_value(parameter, format_value(row.type, value))) == std::get<double>(value));
  }
}

TEST_CASE("power, energy, energy per byte and prices in SI") {
  CHECK(parse_quantity("250W", Dimension::power) == 250);
  CHECK(parse_quantity("1.2kW", Dimension::power) == 1200);
  CHECK(parse_quantity("1kWh", Dimension::energy) == 3.6e6);  // 1,000 W for 3,600 s
  CHECK(parse_quantity("5nJ/B", Dimension::energy_per_byte) == 5e-9);
  CHECK(parse_quantity("10pJ/bit", Dimension::energy_per_byte) == 80e-12);  // eight bits a byte
  CHECK(parse_quantity("5 \xC2\xB5J/B", Dimension::energy_per_byte) == 5e-6);
  CHECK(parse_quantity("2.49", Dimension::price) == 2.49);
  CHECK(parse_quantity("2.49/h", Dimension::price) == 2.49);
  CHECK(format_quantity(2.49, Dimension::price) == "2.49");
  CHECK(format_quantity(5e-9, Dimension::energy_per_byte) == "5nJ/B");
  CHECK_THROWS_WITH(parse_quantity("250", Dimension::power), "250 has no unit; write 250W, 250mW, 250kW or 250MW");
  CHECK_THROWS_WITH(parse_quantity("250 watts", Dimension::power),
                    "'250 watts' has an unknown unit 'watts'; did you mean 'W'? units of a power: W, mW, kW, MW");
  CHECK_THROWS_WITH(parse_quantity("-1W", Dimension::power), "'-1W' is negative; write a power of 0 or more");
}
