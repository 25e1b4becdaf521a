// Softmax cross entropy, -log softmax(scores)[label], over a set of kernels. Scores are in panels.
#pragma once
#include <cstddef>
#include <cstdint>

#include "models/kernels/kernels.hpp"

namespace straggler {

struct SoftmaxCrossEntropy {
  std::size_t classes;

  /// Turns scores into scale[row] * ∂loss/∂scores; returns Σ scale[row] * loss.
  double backward(const Kernels& kernels, std::size_t rows, float* scores, const std::int32_t* labels, const float* scale) const {
    return kernels.softmax_cross_entropy(rows, classes, scores, labels, scale);
  }
  /// Σ loss; adds to `correct` the number of rows with the largest score at their label.
  double evaluate(const Kernels& kernels, std::size_t rows, const float* scores, const std::int32_t* labels, std::uint64_t& correct) const {
    return kernels.softmax_evaluate(rows, classes, scores, labels, &correct);
  }
};

}  // namespace straggler
