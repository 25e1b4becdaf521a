// Products of matrices, on Eigen, for any processor: what layers without a kernel of their own are computed by.
#pragma once
#include <cstddef>

namespace straggler {

/// Row-major: the matrix itself, or its transpose.
struct Factor {
  const float* data;
  bool transposed = false;
};

/// c[m][n] = a[m][k] · b[k][n], added to what is there if `accumulate`. A transposed factor lies in memory as [k][m] or [n][k].
void multiply(std::size_t m, std::size_t n, std::size_t k, Factor a, Factor b, bool accumulate, float* c);

}  // namespace straggler
