// Matrix products and orthogonal columns on Eigen, for any processor: used by layers without a kernel of their own, and by compression.
#pragma once
#include <cstddef>

namespace straggler {

/// Row-major: the matrix itself, or its transpose.
struct Factor {
  const float* data;
  bool transposed = false;
};

/// c[m][n] = a[m][k] · b[k][n], added to the old values if `accumulate`. A transposed factor is stored as [k][m] or [n][k].
void multiply(std::size_t m, std::size_t n, std::size_t k, Factor a, Factor b, bool accumulate, float* c);

/// The first `columns` columns of Q in the QR decomposition of from[rows][columns], row-major, by Householder reflections; columns ≤ rows.
/// Dependent columns give orthogonal ones too. `to` may be `from`.
void orthogonal_columns(std::size_t rows, std::size_t columns, const float* from, float* to);

}  // namespace straggler
