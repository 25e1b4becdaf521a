// `{from: 1, to: 64, times: 2}`: a range of values as a sweep writes it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "scenarios/schema/key.hpp"
#include "scenarios/schema/section.hpp"
#include "sim/base/quantity.hpp"

namespace straggler {

/// An end of a range: a plain number, or a quantity with its unit, in SI.
struct RangeEnd {
  double value = 0;
  std::optional<Dimension> dimension;
  bool percent = false;
  bool bits = false;  // it was written in bits per second; `value` is in bytes
};
/// Nothing if it is neither.
std::optional<RangeEnd> parse_range_end(const std::string& text);
/// The reason why a range must not end there: logarithms, ratios and powers of values further out, or nearer to 0, exceed a double. Empty:
/// it may.
std::string out_of_span(const RangeEnd& end);

/// The values of a range, as YAML scalars in the unit of its ends: geometric by `times`, arithmetic by `step`, or `steps` values, evenly
/// spread (`scale: linear | log`; with log those between the ends are rounded to four digits). `whole: true` rounds each, and leaves out
/// repeated ones. An invalid range has no values, and problems at their places.
std::vector<std::string> read_range(Section range);
/// The keys of a range.
std::vector<ScenarioKey> range_keys();

/// A hint for an error about this value, if it came from a range and the scenario requires a whole number; otherwise empty.
std::string hint_at_whole(const std::string& value, const std::string& line);

}  // namespace straggler
