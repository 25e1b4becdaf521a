#include "models/kernels/product.hpp"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <Eigen/QR>

namespace straggler {
namespace {

/// Eigen blocks long products by the caches that it detects. Bits must not depend on the machine, so the sizes are fixed here, also for the
/// generic kernels.
[[maybe_unused]] const bool same_blocks_everywhere = [] {
  Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20);
  return true;
}();

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Matrix> matrix(const float* data, std::size_t rows, std::size_t columns) {
  return {data, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns)};
}

template <class A, class B>
void assign(const A& a, const B& b, bool accumulate, Eigen::Map<Matrix> c) {
  if (accumulate)
    c.noalias() += a * b;
  else
    c.noalias() = a * b;
}

}  // namespace

void multiply(std::size_t m, std::size_t n, std::size_t k, Factor a, Factor b, bool accumulate, float* c) {
  const Eigen::Map<Matrix> out(c, static_cast<Eigen::Index>(m), static_cast<Eigen::Index>(n));
  if (a.transposed && b.transposed) return assign(matrix(a.data, k, m).transpose(), matrix(b.data, n, k).transpose(), accumulate, out);
  if (a.transposed) return assign(matrix(a.data, k, m).transpose(), matrix(b.data, k, n), accumulate, out);
  if (b.transposed) return assign(matrix(a.data, m, k), matrix(b.data, n, k).transpose(), accumulate, out);
  assign(matrix(a.data, m, k), matrix(b.data, k, n), accumulate, out);
}

void orthogonal_columns(std::size_t rows, std::size_t columns, const float* from, float* to) {
  const auto n = static_cast<Eigen::Index>(rows), r = static_cast<Eigen::Index>(columns);
  const Eigen::HouseholderQR<Eigen::MatrixXf> factors(matrix(from, rows, columns));
  const Eigen::MatrixXf orthogonal = factors.householderQ() * Eigen::MatrixXf::Identity(n, r);
  Eigen::Map<Matrix>(to, n, r) = orthogonal;
}

}  // namespace straggler
