// Orthogonal columns, on Eigen.
#pragma once
#include <cstddef>

namespace straggler {

/// The first `columns` columns of Q in the QR decomposition of from[rows][columns], row-major, by Householder reflections; columns ≤ rows.
/// Where columns depend on each other they are orthogonal too. `to` may be `from`.
void orthogonal_columns(std::size_t rows, std::size_t columns, const float* from, float* to);

}  // namespace straggler
