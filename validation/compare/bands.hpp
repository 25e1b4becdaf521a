// Intervals of predictions, from how well the fitted rows determine the parameters and how far each is from what the others say.
#pragma once
#include <optional>
#include <vector>

#include "validation/tables/least_squares.hpp"

namespace straggler {

/// The share of measurements that an interval is to hold.
inline constexpr double band_confidence = 0.9;
/// An interval that reaches further than this factor, either way, says nothing and is none.
inline constexpr double widest_band = 10;

/// What the residuals of a weighted least-squares fit tell, by its linearization at the minimum.
struct FitSpread {
  Matrix covariance;  // of the parameters: s² (J'WJ)^-1, s² = residuals' weighted squares / degrees of freedom
  std::optional<double>
      left_out;         // root of the weighted mean square of leave-one-out residuals rᵢ / (1 - hᵢ); none: each row decides a parameter
  double quantile = 0;  // Student's t of the degrees of freedom, two-sided, for band_confidence
};

/// `jacobian`: [rows][parameters] derivatives of `residuals`, which are logarithms of predicted / measured or shares. None without a degree
/// of freedom, or where the rows do not tell the parameters apart. hᵢ: leverage, the diagonal of the hat matrix (PRESS, Allen 1974).
std::optional<FitSpread> spread_of(const Matrix& jacobian, const std::vector<double>& residuals, const std::vector<double>& weights);

/// Half of the interval of log(measured) around log(predicted), for a prediction with this gradient of its logarithm: quantile ·
/// sqrt(gradient' covariance gradient + left_out²). None without left_out.
std::optional<double> band_half_width(const FitSpread& spread, const std::vector<double>& gradient);

}  // namespace straggler
