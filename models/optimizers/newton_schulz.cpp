#include "models/optimizers/newton_schulz.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace straggler {
namespace {

constexpr int iterations = 5;
constexpr float of_x = 3.4445f, of_product = -4.7750f, of_square = 2.0315f;

using Floats = std::vector<float>;

/// X, with no more rows than columns, in the layout of the dense kernels: its columns are the samples of a batch, its rows the features.
class Panels {
 public:
  Panels(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns), values_(panel_floats(columns, rows)) {}
  /// A row-major matrix of these sizes, times `factor`.
  void take(const float* from, float factor) {
    each_piece([&](std::size_t at, std::size_t count, float* piece) {
      for (std::size_t lane = 0; lane < count; ++lane) piece[lane] = from[at + lane] * factor;
    });
  }
  void give(float* to) {
    each_piece([&](std::size_t at, std::size_t count, const float* piece) { std::copy_n(piece, count, to + at); });
  }
  float* data() { return values_.data(); }

 private:
  /// visit(place in the row-major matrix, numbers, the same in panels).
  template <class Visit>
  void each_piece(const Visit& visit) {
    float* piece = values_.data();
    for (std::size_t column = 0; column < columns_; column += panel_rows)
      for (std::size_t row = 0; row < rows_; ++row, piece += panel_rows)
        visit(row * columns_ + column, std::min(panel_rows, columns_ - column), piece);
  }
  std::size_t rows_, columns_;
  Floats values_;  // padding: 0
};

/// a I + b A + c A², A = X Xᵀ: what X is multiplied by.
class Polynomial {
 public:
  Polynomial(const Kernels& kernels, std::size_t n)
      : kernels_(kernels), n_(n), product_(n * n), square_(n * n), sums_(n), zeros_(n), panels_(panel_floats(n, n)), squared_(panels_) {}
  /// Of all its memory.
  static std::size_t floats(std::size_t n) { return 2 * (n * n + n + panel_floats(n, n)); }
  const float* of(std::size_t columns, const float* x) {
    kernels_.dense_backward_weights(columns, n_, n_, x, x, false, product_.data(), sums_.data());
    kernels_.to_panels(n_, n_, product_.data(), panels_.data());  // A is symmetric: its rows are its columns
    kernels_.dense_forward(n_, n_, n_, panels_.data(), product_.data(), zeros_.data(), false, squared_.data());
    kernels_.from_panels(n_, n_, squared_.data(), square_.data());
    const float* const terms[] = {product_.data(), square_.data()};
    const float factors[] = {of_product, of_square};
    kernels_.weighted_sum(n_ * n_, 2, terms, factors, product_.data());
    for (std::size_t i = 0; i < n_; ++i) product_[i * n_ + i] += of_x;
    return product_.data();
  }
  const float* zeros() const { return zeros_.data(); }

 private:
  const Kernels& kernels_;
  std::size_t n_;
  Floats product_, square_, sums_, zeros_, panels_, squared_;
};

}  // namespace

std::size_t newton_schulz_floats(std::size_t rows, std::size_t columns) {
  const std::size_t n = std::min(rows, columns), samples = std::max(rows, columns);
  return 2 * panel_floats(samples, n) + Polynomial::floats(n);
}

void newton_schulz(const Kernels& kernels, std::size_t rows, std::size_t columns, const float* u, float* x) {
  const bool tall = rows > columns;
  const std::size_t n = tall ? columns : rows, samples = tall ? rows : columns;
  const auto factor = static_cast<float>(1 / (std::sqrt(kernels.squared_norm(rows * columns, u)) + 1e-7));
  Panels now(n, samples), next(n, samples);
  if (tall) {
    const float* const one[] = {u};
    kernels.weighted_sum(rows * columns, 1, one, &factor, x);
    kernels.to_panels(rows, columns, x, now.data());  // the rows of u are the columns of X
  } else {
    now.take(u, factor);
  }
  Polynomial polynomial(kernels, n);
  for (int i = 0; i < iterations; ++i) {
    kernels.dense_forward(samples, n, n, now.data(), polynomial.of(samples, now.data()), polynomial.zeros(), false, next.data());
    std::swap(now, next);
  }
  if (tall)
    kernels.from_panels(rows, columns, now.data(), x);
  else
    now.give(x);
}

}  // namespace straggler
