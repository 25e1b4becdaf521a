// Element-wise layers, plainly.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "models/layers/dropout.hpp"

namespace straggler::reference {

/// y = max(0, x); NaN stays NaN.
template <class Scalar>
void relu_forward(std::size_t count, const Scalar* x, Scalar* y) {
  for (std::size_t i = 0; i < count; ++i) y[i] = x[i] < 0 ? Scalar(0) : x[i];
}
/// dx += dy where y > 0.
template <class Scalar>
void relu_backward(std::size_t count, const Scalar* y, const Scalar* dy, Scalar* dx) {
  for (std::size_t i = 0; i < count; ++i) dx[i] += y[i] > 0 ? dy[i] : Scalar(0);
}

template <class Scalar>
void tanh_forward(std::size_t count, const Scalar* x, Scalar* y) {
  for (std::size_t i = 0; i < count; ++i) y[i] = std::tanh(x[i]);
}
/// dx += dy (1 - y²).
template <class Scalar>
void tanh_backward(std::size_t count, const Scalar* y, const Scalar* dy, Scalar* dx) {
  for (std::size_t i = 0; i < count; ++i) dx[i] += dy[i] * (1 - y[i] * y[i]);
}

/// y = x Φ(x), Φ the standard normal distribution; by_tanh: Φ(x) ≈ (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2.
template <class Scalar>
void gelu_forward(std::size_t count, bool by_tanh, const Scalar* x, Scalar* y) {
  for (std::size_t i = 0; i < count; ++i) {
    const double z = static_cast<double>(x[i]), inner = std::sqrt(2 / std::numbers::pi) * (z + 0.044715 * z * z * z);
    y[i] = static_cast<Scalar>(z * (1 + (by_tanh ? std::tanh(inner) : std::erf(z / std::numbers::sqrt2))) / 2);
  }
}
/// dx += dy ∂y/∂x.
template <class Scalar>
void gelu_backward(std::size_t count, bool by_tanh, const Scalar* x, const Scalar* dy, Scalar* dx) {
  const double factor = std::sqrt(2 / std::numbers::pi);
  for (std::size_t i = 0; i < count; ++i) {
    const double z = static_cast<double>(x[i]), inner = factor * (z + 0.044715 * z * z * z);
    const double value = by_tanh ? std::tanh(inner) : std::erf(z / std::numbers::sqrt2);
    const double slope = by_tanh ? (1 - value * value) * factor * (1 + 3 * 0.044715 * z * z) : factor * std::exp(-z * z / 2);
    dx[i] += dy[i] * static_cast<Scalar>((1 + value + z * slope) / 2);
  }
}

/// y = x σ(x), σ the logistic function.
template <class Scalar>
void silu_forward(std::size_t count, const Scalar* x, Scalar* y) {
  for (std::size_t i = 0; i < count; ++i) y[i] = x[i] / (1 + std::exp(-x[i]));
}
/// dx += dy σ (1 + x (1 - σ)).
template <class Scalar>
void silu_backward(std::size_t count, const Scalar* x, const Scalar* dy, Scalar* dx) {
  for (std::size_t i = 0; i < count; ++i) {
    const Scalar sigma = 1 / (1 + std::exp(-x[i]));
    dx[i] += dy[i] * sigma * (1 + x[i] * (1 - sigma));
  }
}

/// y += x.
template <class Scalar>
void add(std::size_t count, const Scalar* x, Scalar* y) {
  for (std::size_t i = 0; i < count; ++i) y[i] += x[i];
}

/// y += x / (1 - rate) where the mask of the row's draw keeps it. With (dy, dx) for (x, y) this is the backward pass, too.
template <class Scalar>
void dropout(std::size_t rows, std::size_t size, const std::uint64_t* draws, std::size_t layer, double rate, const Scalar* x, Scalar* y) {
  const auto scale = static_cast<Scalar>(1 / (1 - rate));
  for (std::size_t row = 0; row < rows; ++row) {
    DropoutMask mask(draws[row], layer, rate);
    for (std::size_t i = row * size; i < (row + 1) * size; ++i)
      if (mask.keeps()) y[i] += x[i] * scale;
  }
}

}  // namespace straggler::reference
