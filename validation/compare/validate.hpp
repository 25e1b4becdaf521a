// A claim put to the test: fitted where it may be, predicted where it must be.
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
  double error = 0;                    // predicted / measured - 1
  std::optional<double> interpolated;  // of held-out rows
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
  std::vector<double> other_values;  // [fitted_values]: others that fit as well, SI; empty: the search found none
  int degrees_of_freedom = 0;        // fitted rows less parameters
  bool converged = true;
  Scores fitted, held_out;
  std::optional<Scores> interpolation;  // of the held-out rows
  std::string no_interpolation;         // why there is none
  std::size_t runs = 0;
  bool mape_holds = true, max_holds = true;
  bool holds() const { return mape_holds && max_holds; }
};

/// Throws ScenarioErrors, DataError, RunFailed, Interrupted.
ClaimResult validate(const Claim& claim, const PredictOptions& options);

/// As validate() first does, running nothing: throws ScenarioErrors.
void check_claim(const Claim& claim);

}  // namespace straggler
