// Softmax cross entropy, plainly: -log softmax(scores)[label].
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace straggler::reference {

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

/// Σ cross entropy; adds to `correct` the number of rows with the largest score (ties: the first) at their label.
template <class Scalar>
double softmax_evaluate(std::size_t rows, std::size_t classes, const Scalar* scores, const std::int32_t* labels, std::uint64_t& correct) {
  double loss = 0;
  for (std::size_t row = 0; row < rows; ++row, scores += classes) {
    std::size_t top = 0;
    for (std::size_t c = 1; c < classes; ++c)
      if (scores[c] > scores[top]) top = c;
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(scores[c] - scores[top]));
    const double entropy = std::log(sum) - static_cast<double>(scores[labels[row]] - scores[top]);
    if (top == static_cast<std::size_t>(labels[row]) && !std::isnan(entropy)) ++correct;
    loss += entropy;
  }
  return loss;
}

}  // namespace straggler::reference
