// Orthogonal columns, on Eigen.
#pragma once
#include <cstddef>

namespace straggler {

/// The first `columns` columns of Q in the QR decomposition of from[rows][columns], row-major, by Householder reflections; columns ≤ rows.
/// Dependent columns give orthogonal ones too. `to` may be `from`.
void orthogonal_columns(std::size_t rows, std::size_t columns, const float* from, float* to);

}  // namespace straggler
