// Linear least squares. The only use of Eigen outside the kernels.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

namespace straggler {

/// Rows of equal length.
using Matrix = std::vector<std::vector<double>>;

/// x that minimizes |rows · x - values|²; none if the columns are linearly dependent.
std::optional<std::vector<double>> least_squares(const Matrix& rows, const std::vector<double>& values);

/// Diagonal of (J'J)^-1; none if the columns of J are linearly dependent to eight digits, each first scaled to length 1.
std::optional<std::vector<double>> inverse_normal_diagonal(const Matrix& jacobian);

}  // namespace straggler
