// Intervals of predictions, from the parameters' covariance and the leave-one-out residuals of the fitted rows.
#pragma once
#include <optional>
#include <vector>

#include "validation/tables/least_squares.hpp"

namespace straggler {

/// Nominal coverage of an interval.
inline constexpr double band_confidence = 0.9;
/// An interval that exceeds this factor in either direction is uninformative and is dropped.
inline constexpr double widest_band = 10;

/// Error estimates of a weighted least-squares fit, by linearization at the minimum.
struct FitSpread {
  Matrix covariance;  // of the parameters: s² (J'WJ)^-1, s² = residuals' weighted squares / degrees of freedom
  std::optional<double>
      left_out;  // root of the weighted mean square of leave-one-out residuals rᵢ / (1 - hᵢ); none: each row determines a parameter
  double quantile = 0;  // Student's t of the degrees of freedom, two-sided, for band_confidence
};

/// `jacobian`: [rows][parameters] derivatives of `residuals`, which are logarithms of predicted / measured or shares. None without a degree
/// of freedom, or where the rows do not determine the parameters. hᵢ: leverage, the diagonal of the hat matrix (PRESS, Allen 1974).
std::optional<FitSpread> spread_of(const Matrix& jacobian, const std::vector<double>& residuals, const std::vector<double>& weights);

/// Half of the interval of log(measured) around log(predicted), for a prediction with this gradient of its logarithm: quantile ·
/// sqrt(gradient' covariance gradient + left_out²). None without left_out.
std::optional<double> band_half_width(const FitSpread& spread, const std::vector<double>& gradient);

}  // namespace straggler
