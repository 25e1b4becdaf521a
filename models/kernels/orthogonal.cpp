#include "models/kernels/orthogonal.hpp"

#include <Eigen/Core>
#include <Eigen/QR>

namespace straggler {

void orthogonal_columns(std::size_t rows, std::size_t columns, const float* from, float* to) {
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto n = static_cast<Eigen::Index>(rows), r = static_cast<Eigen::Index>(columns);
  const Eigen::MatrixXf matrix = Eigen::Map<const Rows>(from, n, r);
  const Eigen::MatrixXf orthogonal = Eigen::HouseholderQR<Eigen::MatrixXf>(matrix).householderQ() * Eigen::MatrixXf::Identity(n, r);
  Eigen::Map<Rows>(to, n, r) = orthogonal;
}

}  // namespace straggler
