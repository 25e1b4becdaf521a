// The values of a claim's parameters that bring the fitted rows nearest, and how well these rows determine them.
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
  bool at_bound = false, no_effect = false;
};

struct FitResult {
  std::vector<double> values;  // [parameters]: SI
  std::vector<FittedValue> described;
  std::vector<double> other_values;  // elsewhere in the ranges, and as good; empty: the search found none
  bool converged = false;
};

/// Minimizes the sum of squared errors over the fitted rows only, from two starts: no other row is run. Standard errors are from the
/// covariance s² (J'J)^-1, with J the residuals' derivatives by central differences and s² the residual variance. Throws as
/// Predictor::predict does.
FitResult fit_parameters(const Claim& claim, const std::vector<ClaimRow>& rows, Predictor& predictor);

/// The changes that put `values` at the parameters' paths.
std::vector<PlacedSet> sets_of(const Fit& fit, const std::vector<double>& values);

/// Predicted and measured of row `index`: SI, or both as ratios to the row that it is relative to.
struct Pair {
  double measured, predicted;
};
Pair compare_row(const std::vector<ClaimRow>& rows, std::size_t index, Predictor& predictor, const std::vector<PlacedSet>& more);

}  // namespace straggler
