// Tests a claim: fits the fitted rows, predicts the held-out ones.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "validation/compare/claim.hpp"
#include "validation/compare/fit.hpp"
#include "validation/compare/predictor.hpp"
#include "validation/compare/rows.hpp"

namespace straggler {

/// In the unit of the measured column; ratios where the claim compares relative to a row.
struct RowResult {
  ClaimRow row;
  double measured = 0, predicted = 0;
  double error = 0;                           // predicted / measured - 1
  std::optional<double> interpolated = {};    // of held-out rows
  std::optional<double> low = {}, high = {};  // ends of the interval (90 %) for the measured value; none: not known
  std::optional<SeedSpread> seeds = {};       // none: the claim has one seed
  std::vector<std::string> outside = {};      // of held-out rows, columns beyond the fitted ones: "gpus 32 above 8"
  /// None without an interval.
  std::optional<bool> inside() const { return low ? std::optional(measured >= *low && measured <= *high) : std::nullopt; }
};

/// Of some rows' errors.
struct Scores {
  std::size_t rows = 0;
  double mape = 0, max = 0;  // shares
  std::string signs;         // "++-+", in the order of the table; 0 below 1e-6
};
Scores scores_of(const std::vector<double>& errors);

struct ClaimResult {
  Claim claim;
  std::vector<RowResult> rows;
  std::vector<FittedValue> fitted_values;
  std::vector<double> other_values;  // [fitted_values]: equally good values, SI; empty: the search found none
  int degrees_of_freedom = 0;        // fitted rows less parameters
  bool converged = true;
  Scores fitted, held_out;
  std::optional<Scores> interpolation;  // of the held-out rows
  std::string no_interpolation;         // why there is none
  bool linear_scaling = false;          // `interpolation` scales one fitted row
  std::size_t inside = 0;               // held-out rows whose measured value lies in its interval
  std::size_t outside = 0;              // held-out rows that lie beyond the fitted ones
  std::string no_band;                  // why there are no intervals
  std::optional<double> noise_floor;    // mean error of a perfect prediction of the held-out rows
  std::size_t runs = 0;
  bool mape_holds = true, max_holds = true;
  bool fitted_hold = true;   // the fitted rows are within the bound of the held-out ones
  bool inside_range = true;  // no fitted parameter ended at the end of its range
  bool holds() const { return mape_holds && max_holds && fitted_hold && inside_range; }
};

/// Throws ScenarioErrors, DataError, RunFailed, Interrupted.
ClaimResult validate(const Claim& claim, const PredictOptions& options);

/// The checks of validate(), without running anything: throws ScenarioErrors.
void check_claim(const Claim& claim);

}  // namespace straggler
