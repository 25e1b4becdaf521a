// Units: a row for each dimension of a quantity. Readers, writers, messages, schemas and texts for people follow from the rows. A new
// dimension is an enumerator of Dimension, one of ValueType, and a row in units.cpp.
#pragma once
#include <array>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace straggler {

/// The dimension of a unit. SI inside: seconds, bytes, bytes per second, floating-point operations per second, watts, joules, joules per
/// byte. An amount is a plain number, perhaps of thousands (k), millions (M), billions (G) or trillions (T); a price is one per hour, in
/// any currency.
enum class Dimension { time, bytes, rate, compute, amount, power, energy, energy_per_byte, price };

/// The kinds of values of parameters. An amount is a whole number that may be written with k, M, G or T; rows are a list of maps, or the
/// path of a CSV file of the same columns.
enum class ValueType {
  count,
  number,
  fraction,
  time,
  bytes,
  rate,
  flops,
  amount,
  boolean,
  choice,
  counts,
  path,
  text,
  nested,
  rows,
  power,
  energy,
  energy_per_byte,
  price
};

/// factor · 10^exponent of the SI unit. The power of ten is applied to the decimal text, so it rounds once; factors are exact in binary or
/// small whole numbers.
struct Unit {
  const char* name;  // empty: a plain number
  int exponent;
  double factor;
  std::array<const char*, 2> also = {};  // read alike; null: none
  bool written = true;                   // in files; else only read
};

/// A unit in lower case as others write it, without the s of a plural.
struct OtherUnit {
  std::string_view other, ours;
};

struct DimensionRow {
  Dimension dimension;
  ValueType type;
  const char* name;     // of the type, where a scheme in Python declares a parameter: "time"
  const char* noun;     // "a time"
  const char* form;     // in tables of keys: "time"
  const char* example;  // after "such as": "10ms"
  const char* on_page;  // as scripts of pages name its numbers: "seconds"
  std::span<const Unit> units;
  std::span<const OtherUnit> others;
  std::string (*readable)(double);
  double usual = 1;             // where nothing better is known
  bool bare = false;            // a number without a unit is one, too
  const char* whole = nullptr;  // values are whole numbers; what another value is not
  double most = std::numeric_limits<double>::infinity();
};

/// All, in the order of Dimension.
std::span<const DimensionRow> dimensions();
const DimensionRow& row_of(Dimension dimension);
/// Null: values of that type have no unit.
const DimensionRow* row_of(ValueType type);

}  // namespace straggler
