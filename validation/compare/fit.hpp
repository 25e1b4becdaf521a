// The values of a claim's parameters that bring the fitted rows nearest, and how well these rows determine them.
#pragma once
#include <vector>

#include "validation/compare/predictor.hpp"
#include "validation/compare/validate.hpp"

namespace straggler {

struct FitResult {
  std::vector<double> values;  // [parameters]: SI
  std::vector<FittedValue> described;
  bool converged = false;
};

/// Minimizes the sum of squared errors over the fitted rows only: no other row is run. Standard errors are from the covariance
/// s² (J'J)^-1, with J the residuals' derivatives by central differences and s² the residual variance. Throws as Predictor::predict does.
FitResult fit_parameters(const Claim& claim, const std::vector<ClaimRow>& rows, Predictor& predictor);

/// The changes that put `values` at the parameters' paths.
std::vector<PlacedSet> sets_of(const Fit& fit, const std::vector<double>& values);

/// Predicted and measured of row `index`: SI, or both as ratios to the row that it is relative to.
struct Pair {
  double measured, predicted;
};
Pair compare_row(const std::vector<ClaimRow>& rows, std::size_t index, Predictor& predictor, const std::vector<PlacedSet>& more);

}  // namespace straggler
