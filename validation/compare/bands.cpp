#include "validation/compare/bands.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace straggler {

namespace {

/// a' M b
double form(const std::vector<double>& a, const Matrix& matrix, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) sum += a[i] * matrix[i][j] * b[j];
  return sum;
}

}  // namespace

std::optional<FitSpread> spread_of(const Matrix& jacobian, const std::vector<double>& residuals, const std::vector<double>& weights) {
  if (jacobian.empty() || jacobian.size() <= jacobian.front().size()) return std::nullopt;
  const double degrees = static_cast<double>(jacobian.size() - jacobian.front().size());
  Matrix scaled = jacobian;
  double squares = 0;
  for (std::size_t r = 0; r < scaled.size(); ++r) {
    for (double& each : scaled[r]) each *= std::sqrt(weights[r]);
    squares += weights[r] * residuals[r] * residuals[r];
  }
  const std::optional<Matrix> inverse = inverse_normal(scaled);
  if (!inverse) return std::nullopt;
  // 1 - leverage: below it a row alone determines a parameter, and its residual does not show the model's error.
  constexpr double decides = 0.05;
  FitSpread spread;
  double sum = 0, weight = 0;
  for (std::size_t r = 0; r < scaled.size(); ++r) {
    const double free = 1 - form(scaled[r], *inverse, scaled[r]);
    if (!(free > decides)) continue;
    sum += weights[r] * std::pow(residuals[r] / free, 2);
    weight += weights[r];
  }
  if (weight > 0) spread.left_out = std::sqrt(sum / weight);
  spread.covariance = *inverse;
  for (std::vector<double>& row : spread.covariance)
    for (double& each : row) each *= squares / degrees;
  spread.quantile = boost::math::quantile(boost::math::students_t(degrees), (1 + band_confidence) / 2);
  return spread;
}

std::optional<double> band_half_width(const FitSpread& spread, const std::vector<double>& gradient) {
  if (!spread.left_out) return std::nullopt;
  return spread.quantile * std::sqrt(form(gradient, spread.covariance, gradient) + *spread.left_out * *spread.left_out);
}

}  // namespace straggler
