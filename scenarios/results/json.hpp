// The output of commands with --json: numbers are numbers, null where there is none, times in seconds under keys that end in `_s`.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/results/summary.hpp"

namespace straggler {

/// Keys keep the order in which they are written.
using Json = nlohmann::ordered_json;

/// A number that is not finite becomes null when it is written.
template <class Value>
Json json_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}
/// A count that is held as a double, without a fraction in its text.
Json count_or_null(const std::optional<double>& count);
/// Null for an empty text.
inline Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

/// Whole numbers exactly, times as the nearest double in seconds.
Json json_of(const Scalar& scalar);
/// An object, in the order of the fields.
Json json_of(const std::vector<SummaryField>& fields);
/// A YAML scalar: a plain number as a number, anything else (a unit, a word, a block) as its text.
Json json_of_yaml(const std::string& yaml);

/// The document as it is printed: indented, with a line end. Invalid UTF-8 is replaced.
std::string json_document(const Json& json);

}  // namespace straggler
