// A dense layer, plainly: y = w x + b. Sample-major.
#pragma once
#include <cstddef>

namespace straggler::reference {

/// y[rows][out] = x[rows][in] · w[out][in]ᵀ + b[out], rectified if `relu`.
template <class Scalar>
void dense_forward(std::size_t rows, std::size_t in, std::size_t out, const Scalar* x, const Scalar* w, const Scalar* b, bool relu,
                   Scalar* y) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t o = 0; o < out; ++o) {
      Scalar sum = b[o];
      for (std::size_t i = 0; i < in; ++i) sum += x[row * in + i] * w[o * in + i];
      y[row * out + o] = relu && sum < 0 ? Scalar(0) : sum;
    }
}

/// dw[out][in] += dyᵀ x, db[out] += column sums of dy.
template <class Scalar>
void dense_backward_weights(std::size_t rows, std::size_t in, std::size_t out, const Scalar* x, const Scalar* dy, Scalar* dw, Scalar* db) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t o = 0; o < out; ++o) {
      db[o] += dy[row * out + o];
      for (std::size_t i = 0; i < in; ++i) dw[o * in + i] += dy[row * out + o] * x[row * in + i];
    }
}

/// dx[rows][in] = dy · w, zero where x <= 0 if `relu` (x is then the output of a ReLU).
template <class Scalar>
void dense_backward_input(std::size_t rows, std::size_t in, std::size_t out, const Scalar* dy, const Scalar* w, const Scalar* x, bool relu,
                          Scalar* dx) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < in; ++i) {
      Scalar sum = 0;
      for (std::size_t o = 0; o < out; ++o) sum += dy[row * out + o] * w[o * in + i];
      dx[row * in + i] = relu && x[row * in + i] <= 0 ? Scalar(0) : sum;
    }
}

}  // namespace straggler::reference
