// Quantities in scenarios ("50us", "1Gbps", "25MiB", "2%") and their SI values, both ways exactly.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace straggler {

/// "a time", "a size", "a rate": as its row in units.hpp has it.
const char* noun_of(Dimension dimension);
/// The units a dimension may be written in, in the order in which messages offer them; an amount also without one.
std::vector<std::string> units_of(Dimension dimension);

/// "50us" is 5e-5, "1Gbps" is 1.25e8: the nearest double of the exact decimal value for every decimal unit. Blanks may stand
/// before the unit. "us" may be written with the micro sign (U+00B5) or the Greek letter (U+03BC). Throws std::invalid_argument ("what is
/// wrong; what would be right") on a missing or unknown unit, a number that is not one, not finite, or negative.
double parse_quantity(std::string_view text, Dimension dimension);
/// Whether a number with a unit of this dimension is written, though parse_quantity may refuse its value.
bool has_unit_of(std::string_view text, Dimension dimension);

/// The shortest text that parse_quantity turns into exactly this value, with an exponent only where no unit does without. `value` is finite
/// and not negative.
std::string format_quantity(double value, Dimension dimension);

/// A finite decimal number. Throws std::invalid_argument.
double parse_number(std::string_view text);
/// The shortest decimal text of exactly this double, without an exponent where that is no longer.
std::string format_number(double value);

/// A plain number, or a share in percent: "0.5" and "50%" are the same. Throws std::invalid_argument.
double parse_fraction(std::string_view text);

/// A whole number of 64 bits, written without point or exponent. Throws std::invalid_argument.
std::int64_t parse_count(std::string_view text);
/// The same, not negative, up to 2^64 - 1.
std::uint64_t parse_unsigned(std::string_view text);

/// true or false. Throws std::invalid_argument.
bool parse_boolean(std::string_view text);

}  // namespace straggler
