// The nearly orthogonal matrix of Muon.
#pragma once
#include <cstddef>

#include "models/kernels/kernels.hpp"

namespace straggler {

/// X of Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024: X = u / (|u| + 1e-7), |u| the root of the sum of
/// squares, and then five times
///   X ← a X + (b A + c A²) X,   A = X Xᵀ,   (a, b, c) = (3.4445, -4.7750, 2.0315),
/// or of the transposed matrix where there are more rows than columns. It moves the singular values towards 1: to between 0.7 and 1.2
/// unless they are small. u, x: [rows][columns]; x may be u.
/// It allocates newton_schulz_floats.
void newton_schulz(const Kernels& kernels, std::size_t rows, std::size_t columns, const float* u, float* x);

std::size_t newton_schulz_floats(std::size_t rows, std::size_t columns);

}  // namespace straggler
