// Matrix products on Eigen, for any processor: used by layers without a kernel of their own.
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

}  // namespace straggler
