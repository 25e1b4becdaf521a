#include "validation/tables/least_squares.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <unsupported/Eigen/NonLinearOptimization>

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

std::optional<Matrix> inverse_normal(const Matrix& jacobian) {
  if (jacobian.empty()) return std::nullopt;
  Eigen::MatrixXd matrix = dense(jacobian);
  Eigen::VectorXd lengths;
  if (!scale_columns(matrix, lengths)) return std::nullopt;
  const Eigen::JacobiSVD<Eigen::MatrixXd> parts(matrix, Eigen::ComputeThinV);
  const Eigen::VectorXd& singular = parts.singularValues();
  if (!(singular.minCoeff() > dependent * singular.maxCoeff())) return std::nullopt;
  // J = U S V' makes (J'J)^-1 = V S^-2 V'.
  const Eigen::MatrixXd half = lengths.cwiseInverse().asDiagonal() * parts.matrixV() * singular.cwiseInverse().asDiagonal();
  const Eigen::MatrixXd inverse = half * half.transpose();
  Matrix out;
  for (Eigen::Index r = 0; r < inverse.rows(); ++r) {
    const Eigen::VectorXd row = inverse.row(r);
    out.emplace_back(row.begin(), row.end());
  }
  return out;
}

std::optional<std::vector<double>> inverse_normal_diagonal(const Matrix& jacobian) {
  const std::optional<Matrix> inverse = inverse_normal(jacobian);
  if (!inverse) return std::nullopt;
  std::vector<double> diagonal;
  for (std::size_t i = 0; i < inverse->size(); ++i) diagonal.push_back((*inverse)[i][i]);
  return diagonal;
}

namespace {

/// The functor for Eigen's Levenberg-Marquardt, in angles.
class AngleFunctor {
 public:
  using Scalar = double;
  using Index = Eigen::Index;
  AngleFunctor(const ResidualsAt& residuals, const std::vector<double>& steps) : residuals_(residuals), steps_(steps) {}

  static std::vector<double> point(const Eigen::VectorXd& angles) {
    std::vector<double> out;
    for (const double angle : angles) out.push_back((1 - std::cos(angle)) / 2);
    return out;
  }

  Index inputs() const { return static_cast<Index>(steps_.size()); }
  Index values() const { return values_; }
  void set_values(Index values) { values_ = values; }

  int operator()(const Eigen::VectorXd& angles, Eigen::VectorXd& out) const {
    const std::vector<double> found = residuals_({point(angles)}).front();
    out = Eigen::Map<const Eigen::VectorXd>(found.data(), values_);
    return 0;
  }
  int df(const Eigen::VectorXd& angles, Eigen::MatrixXd& jacobian) const {
    Matrix points{point(angles)};
    for (Index c = 0; c < inputs(); ++c) {
      Eigen::VectorXd moved = angles;
      moved[c] += steps_[static_cast<std::size_t>(c)];
      points.push_back(point(moved));
    }
    const Matrix found = residuals_(points);
    jacobian.resize(values_, inputs());
    for (Index c = 0; c < inputs(); ++c)
      for (Index r = 0; r < values_; ++r)
        jacobian(r, c) = (found[static_cast<std::size_t>(c) + 1][static_cast<std::size_t>(r)] - found[0][static_cast<std::size_t>(r)]) /
                         steps_[static_cast<std::size_t>(c)];
    return 0;
  }

 private:
  const ResidualsAt& residuals_;
  const std::vector<double>& steps_;  // [coordinates]
  Index values_ = 0;
};

}  // namespace

std::vector<double> least_squares_in_cube(const ResidualsAt& residuals, const std::vector<double>& start, const std::vector<double>& steps,
                                          double good_enough) {
  constexpr double inside = 1e-3;  // at an end the angle changes nothing, to first order
  constexpr int most_steps = 60;
  Eigen::VectorXd angles(static_cast<Eigen::Index>(start.size()));
  for (std::size_t i = 0; i < start.size(); ++i)
    angles[static_cast<Eigen::Index>(i)] = std::acos(1 - 2 * std::clamp(start[i], inside, 1 - inside));
  AngleFunctor functor(residuals, steps);
  functor.set_values(static_cast<Eigen::Index>(residuals({AngleFunctor::point(angles)}).front().size()));
  Eigen::LevenbergMarquardt<AngleFunctor> method(functor);
  // Convergence is quadratic where the residuals can vanish, so that these limits end only searches that have almost converged.
  method.parameters.xtol = 1e-7;
  method.parameters.ftol = 1e-2;
  method.parameters.factor = 1;  // first steps of the size of the angles: models bend
  Eigen::LevenbergMarquardtSpace::Status status = method.minimizeInit(angles);
  for (int step = 0; step < most_steps && status <= Eigen::LevenbergMarquardtSpace::Running; ++step) {
    status = method.minimizeOneStep(angles);
    if (method.fnorm * method.fnorm <= good_enough) break;
  }
  return AngleFunctor::point(angles);
}

}  // namespace straggler
