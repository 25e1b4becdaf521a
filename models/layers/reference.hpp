// Plain implementations of every layer: what the kernels must compute, in loops that can be read beside the formulas.
// Sample-major, any scalar: in double they are checked against central differences, and the kernels against them.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

/// scores[rows][classes] -> scale[row] * (softmax - one-hot). Returns Σ scale[row] * cross entropy.
template <class Scalar>
double softmax_cross_entropy(std::size_t rows, std::size_t classes, Scalar* scores, const std::int32_t* labels, const Scalar* scale) {
  double loss = 0;
  for (std::size_t row = 0; row < rows; ++row, scores += classes) {
    Scalar top = scores[0], sum = 0;
    for (std::size_t c = 1; c < classes; ++c) top = scores[c] > top ? scores[c] : top;
    const Scalar label_score = scores[labels[row]] - top;
    for (std::size_t c = 0; c < classes; ++c) sum += scores[c] = std::exp(scores[c] - top);
    for (std::size_t c = 0; c < classes; ++c) scores[c] *= scale[row] / sum;
    scores[labels[row]] -= scale[row];
    loss += static_cast<double>(scale[row]) * (std::log(static_cast<double>(sum)) - static_cast<double>(label_score));
  }
  return loss;
}

/// Loss and gradient of a chain of dense layers of the given widths (inputs first, classes last) with ReLU between them.
/// weights and gradient: for each layer w[out][in], then b[out]. gradient = Σ scale[row] ∂loss/∂weights; returns Σ scale[row] loss.
template <class Scalar>
double perceptron_gradient(std::span<const std::size_t> widths, const Scalar* weights, std::size_t rows, const Scalar* x,
                           const std::int32_t* labels, const Scalar* scale, Scalar* gradient) {
  const std::size_t layers = widths.size() - 1;
  std::vector<std::vector<Scalar>> activations(layers + 1);
  std::vector<std::size_t> offset(layers + 1, 0);
  activations[0].assign(x, x + rows * widths[0]);
  for (std::size_t l = 0; l < layers; ++l) {
    const std::size_t in = widths[l], out = widths[l + 1];
    offset[l + 1] = offset[l] + (in + 1) * out;
    activations[l + 1].resize(rows * out);
    const Scalar* const w = weights + offset[l];
    dense_forward(rows, in, out, activations[l].data(), w, w + in * out, l + 1 < layers, activations[l + 1].data());
  }
  for (std::size_t i = 0; i < offset[layers]; ++i) gradient[i] = 0;
  std::vector<Scalar> dy = activations[layers], dx;
  const double loss = softmax_cross_entropy(rows, widths[layers], dy.data(), labels, scale);
  for (std::size_t l = layers; l-- > 0;) {
    const std::size_t in = widths[l], out = widths[l + 1];
    dense_backward_weights(rows, in, out, activations[l].data(), dy.data(), gradient + offset[l], gradient + offset[l] + in * out);
    if (l == 0) break;
    dx.resize(rows * in);
    dense_backward_input(rows, in, out, dy.data(), weights + offset[l], activations[l].data(), true, dx.data());
    dy.swap(dx);
  }
  return loss;
}

}  // namespace straggler::reference
