// The values of a claim's parameters that fit the fitted rows best, and their uncertainty.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "validation/compare/claim.hpp"
#include "validation/compare/predictor.hpp"
#include "validation/compare/rows.hpp"

namespace straggler {

struct FittedValue {
  std::vector<std::string> paths;
  std::optional<Dimension> dimension;
  double value = 0;                   // SI
  std::optional<double> uncertainty;  // one standard error, SI; none: not determined
  bool at_bound = false;
  bool flat = false;       // values near it give the same fitted rows
  bool no_effect = false;  // so do all in its range
};

struct FitResult {
  std::vector<double> values;  // [parameters]: SI
  std::vector<FittedValue> described;
  std::vector<double> other_values;  // equally good values elsewhere in the ranges; empty: the search found none
  bool converged = false;
  std::vector<std::optional<double>> half_widths;  // [rows of the claim]: of the interval of log(measured / predicted); none: not known
  std::string no_band;                             // why there are none
};

/// Minimizes the weighted sum of squared errors over the fitted rows only, from two starts: no other row is run before that. Standard
/// errors are from the covariance s² (J'WJ)^-1, with J the residuals' derivatives by central differences and s² the residual variance;
/// without a degree of freedom, and where the noise of the fitted rows is known, that noise replaces s². Throws as Predictor::predict does.
FitResult fit_parameters(const Claim& claim, const std::vector<ClaimRow>& rows, Predictor& predictor);

/// The changes that put `values` at the parameters' paths.
std::vector<PlacedSet> sets_of(const Fit& fit, const std::vector<double>& values);

/// Predicted and measured value of row `index`: SI, or both as ratios to its reference row.
struct Pair {
  double measured, predicted;
};
/// Runs in advance, on all cores, the cases that compare_row() needs: these rows under each of these changes.
void prepare_rows(const std::vector<ClaimRow>& rows, const std::vector<std::size_t>& indices, Predictor& predictor,
                  const std::vector<std::vector<PlacedSet>>& changes);
/// How the prediction of a row varies between seeds, in the unit of Pair.
struct SeedSpread {
  std::size_t runs = 1;  // of this row
  double deviation = 0;  // standard deviation between them; of a ratio to the first order
  double error() const;  // standard error of their mean
};
SeedSpread seed_spread(const std::vector<ClaimRow>& rows, std::size_t index, Predictor& predictor, const std::vector<PlacedSet>& more);
Pair compare_row(const std::vector<ClaimRow>& rows, std::size_t index, Predictor& predictor, const std::vector<PlacedSet>& more);

}  // namespace straggler
