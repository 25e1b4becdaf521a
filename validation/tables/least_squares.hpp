// Least squares, linear and not. The only use of Eigen outside the kernels.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace straggler {

/// Rows of equal length.
using Matrix = std::vector<std::vector<double>>;

/// x that minimizes |rows · x - values|²; none if the columns are linearly dependent.
std::optional<std::vector<double>> least_squares(const Matrix& rows, const std::vector<double>& values);

/// (J'J)^-1; none if the columns of J are linearly dependent to eight digits, each first scaled to length 1.
std::optional<Matrix> inverse_normal(const Matrix& jacobian);
/// Its diagonal.
std::optional<std::vector<double>> inverse_normal_diagonal(const Matrix& jacobian);

/// The residuals at each of several points of the unit cube: [points][residuals].
using ResidualsAt = std::function<Matrix(const Matrix& points)>;

/// A point of the unit cube near which the sum of squared residuals is least: Levenberg-Marquardt (MINPACK's lmder, Moré 1978) from
/// `start`, in angles t with x = (1 - cos t) / 2, so that no step leaves the cube. Derivatives are forward differences over `steps`
/// [coordinates], in angles, all requested at once. Ends when the sum falls to `good_enough`, when a step lowers it by less than a
/// hundredth (a minimum above 0 is near), or after 60 steps. There must be at least as many residuals as coordinates. Exceptions of
/// `residuals` propagate.
std::vector<double> least_squares_in_cube(const ResidualsAt& residuals, const std::vector<double>& start, const std::vector<double>& steps,
                                          double good_enough);

}  // namespace straggler
