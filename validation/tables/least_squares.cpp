#include "validation/tables/least_squares.hpp"

#include <Eigen/Dense>

namespace straggler {

namespace {

constexpr double dependent = 1e-8;

Eigen::MatrixXd dense(const Matrix& rows) {
  Eigen::MatrixXd out(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(rows.empty() ? 0 : rows.front().size()));
  for (Eigen::Index r = 0; r < out.rows(); ++r)
    for (Eigen::Index c = 0; c < out.cols(); ++c) out(r, c) = rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
  return out;
}

/// Divides every column by its length; false if one is zero or there are fewer rows than columns.
bool scale_columns(Eigen::MatrixXd& matrix, Eigen::VectorXd& lengths) {
  lengths = matrix.colwise().norm();
  if (matrix.rows() < matrix.cols() || !(lengths.minCoeff() > 0) || !lengths.allFinite()) return false;
  matrix = matrix * lengths.cwiseInverse().asDiagonal();
  return true;
}

}  // namespace

std::optional<std::vector<double>> least_squares(const Matrix& rows, const std::vector<double>& values) {
  if (rows.empty()) return std::nullopt;
  Eigen::MatrixXd matrix = dense(rows);
  Eigen::VectorXd lengths;
  if (!scale_columns(matrix, lengths)) return std::nullopt;
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> factors(matrix);
  factors.setThreshold(dependent);
  if (factors.rank() < matrix.cols()) return std::nullopt;
  const Eigen::VectorXd right = Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
  const Eigen::VectorXd solution = factors.solve(right).cwiseQuotient(lengths);
  return std::vector<double>(solution.begin(), solution.end());
}

std::optional<std::vector<double>> inverse_normal_diagonal(const Matrix& jacobian) {
  if (jacobian.empty()) return std::nullopt;
  Eigen::MatrixXd matrix = dense(jacobian);
  Eigen::VectorXd lengths;
  if (!scale_columns(matrix, lengths)) return std::nullopt;
  const Eigen::JacobiSVD<Eigen::MatrixXd> parts(matrix, Eigen::ComputeThinV);
  const Eigen::VectorXd& singular = parts.singularValues();
  if (!(singular.minCoeff() > dependent * singular.maxCoeff())) return std::nullopt;
  // J = U S V' makes (J'J)^-1 = V S^-2 V'.
  const Eigen::MatrixXd half = parts.matrixV() * singular.cwiseInverse().asDiagonal();
  const Eigen::VectorXd diagonal = half.rowwise().squaredNorm().cwiseQuotient(lengths.cwiseAbs2());
  return std::vector<double>(diagonal.begin(), diagonal.end());
}

}  // namespace straggler
