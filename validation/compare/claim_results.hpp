// The output of `straggler validate`: tables on the terminal, validation.csv, report.html.
#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

#include "validation/compare/validate.hpp"

namespace straggler {

/// "2.35 %"
inline std::string share(double value) { return fmt::format("{:.3g} %", 100 * value); }
/// The rows, the fitted values and the scores of one claim, several lines.
std::string claim_table(const ClaimResult& result);
/// One line: whether it holds, and by how much.
std::string claim_line(const ClaimResult& result);
/// Reasons to doubt the outcome, each a sentence.
std::vector<std::string> claim_warnings(const ClaimResult& result);
/// Why a prediction does not count, whether it holds or misses: its bound says too little, or its answer was among what it was given. Each
/// a sentence; empty: it counts. A replay never counts, and has none.
std::vector<std::string> not_counted(const ClaimResult& result);
/// Neither a replay nor one of those.
bool counts(const ClaimResult& result);
/// The measured column's name ends in a unit of time, and `unit` is not given; empty: no such doubt.
std::string unit_doubt(const Compared& compare);
/// "3 of 4 claims hold; 1 that does not count".
std::string claims_summary(const std::vector<ClaimResult>& results);
/// claim,row,set,measured,predicted,error,interpolated,interpolation_error,unit,low,high,outside,seeds,seed_deviation,standard_error
std::string validation_csv(const std::vector<ClaimResult>& results);
/// The contents of tables and lines, typed: rows in the unit of the measured column, errors and scores as shares, fitted values in SI.
/// `not_tried`: claims skipped by an interruption.
std::string validation_json(const std::vector<ClaimResult>& results, std::size_t not_tried);
/// One page that needs no network.
std::string validation_html(const std::vector<ClaimResult>& results);

/// "holds" or "MISSED" and the bounds: "MAPE at most 2 %, largest at most 4 %".
std::string bound_text(const Claim& claim);
/// Reasons why a claim is missed: "held out: MAPE 3 % (bound 2 %)", "cluster.… at the end of its range". Empty: it holds.
std::vector<std::string> misses(const ClaimResult& result);
/// "34 of 60 held-out rows lie inside the 90 % interval"; or "-, since …".
std::string inside_text(const ClaimResult& result);
/// The heads of a row's two cells about its seeds, and the cells: shares of the measured value, as its error is. Empty with one seed.
std::vector<std::string> seed_heads(const ClaimResult& result);
std::vector<std::string> seed_cells(const RowResult& row);
/// "of 8 runs a row: standard error …"; only with several seeds.
std::string seeds_text(const ClaimResult& result);
/// "devices.node.compute.affine.per_sample = 1.2 ms +- 0.1 ms"
std::string fitted_text(const FittedValue& value);
/// "these fit as well: …"; empty if the search found no other values.
std::string other_values_text(const ClaimResult& result);
/// "+1.23 %"; a dash if there is none.
std::string error_text(std::optional<double> error);
const char* name_of(RowUse use);  // "fitted", "held out", "reference"

}  // namespace straggler
