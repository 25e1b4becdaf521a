// Plain implementations of every layer: what the kernels must compute, in loops that can be read beside the formulas
// (docs/model.md). Any scalar: in double they are checked against central differences, and everything fast against them.
//
// Activations are sample-major: [rows][channels][height][width]. What backward passes compute is added to what is there, so that
// layers which feed several others need no special care; but for dense_backward_input, which assigns.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/layers/reference_convolution.hpp"
#include "models/layers/reference_dense.hpp"
#include "models/layers/reference_elementwise.hpp"
#include "models/layers/reference_embedding.hpp"
#include "models/layers/reference_loss.hpp"
#include "models/layers/reference_norm.hpp"
#include "models/layers/reference_pool.hpp"

namespace straggler::reference {

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
