// The scalars of a run: summary.json, which sweeps, claims and comparisons also use.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/results/scalar.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// One scalar, as summary.json has it.
struct SummaryField {
  std::string key;
  Scalar value;  // none: null in JSON, an empty cell in CSV
  bool operator==(const SummaryField&) const = default;
};

/// The scalar of this key; a scalar that is none if there is no such field.
const Scalar& scalar_of(const std::vector<SummaryField>& fields, std::string_view key);

/// The text of this key; empty if there is none.
std::string text_of(const std::vector<SummaryField>& fields, std::string_view key);

/// All scalars, in the order of summary.json. Times are exact to the tick. Fractions are means over workers of the phase's
/// share of the worker's time; percentiles are nearest-rank: the smallest staleness that at least that share of the
/// contributions does not exceed.
std::vector<SummaryField> summarize(const RunRecord& record);

/// The outcome of the run; none: no field has it, or it is a word that this version does not know.
std::optional<Outcome> outcome_of(const std::vector<SummaryField>& fields);

/// Whether the run came to its stop. Runs that did not never win, have no rank and are in no mean. Fields without an outcome are finished.
bool is_finished(const std::vector<SummaryField>& fields);

/// The field of this key is text: it has no mean, and nothing is compared by it.
bool holds_text(std::string_view key);

/// The field of this key comes from the gradients, not from the clock: a run of the timing alone lacks it.
bool needs_math(std::string_view key);

/// The fields as a JSON object, one line each.
std::string summary_json(const std::vector<SummaryField>& fields);

/// The label of the time to an accuracy in tables and reports: "time to 0.85", "time to 0.85 (target)".
std::string time_to(double accuracy, bool target);

}  // namespace straggler
