// Softmax cross entropy, plainly: -log softmax(scores)[label], at each place of a sample.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace straggler::reference {

/// scores[rows][classes][places] -> share * (softmax - one-hot), share = scale[row] / places; labels[rows][places]. Returns Σ share * cross
/// entropy.
template <class Scalar>
double softmax_cross_entropy(std::size_t rows, std::size_t classes, Scalar* scores, const std::int32_t* labels, const Scalar* scale,
                             std::size_t places = 1) {
  double loss = 0;
  for (std::size_t i = 0; i < rows * places; ++i) {
    Scalar* const first = scores + i / places * classes * places + i % places;
    const auto at = [&](auto c) -> Scalar& { return first[static_cast<std::size_t>(c) * places]; };
    const Scalar share = scale[i / places] / static_cast<Scalar>(places);
    Scalar top = at(0), sum = 0;
    for (std::size_t c = 1; c < classes; ++c) top = at(c) > top ? at(c) : top;
    const Scalar label_score = at(labels[i]) - top;
    for (std::size_t c = 0; c < classes; ++c) sum += at(c) = std::exp(at(c) - top);
    for (std::size_t c = 0; c < classes; ++c) at(c) *= share / sum;
    at(labels[i]) -= share;
    loss += static_cast<double>(share) * (std::log(static_cast<double>(sum)) - static_cast<double>(label_score));
  }
  return loss;
}

/// Σ over the rows of the mean cross entropy of their places; adds to `correct` the number of places with the largest score (ties: the
/// first) at their label.
template <class Scalar>
double softmax_evaluate(std::size_t rows, std::size_t classes, const Scalar* scores, const std::int32_t* labels, std::uint64_t& correct,
                        std::size_t places = 1) {
  double loss = 0;
  for (std::size_t i = 0; i < rows * places; ++i) {
    const Scalar* const first = scores + i / places * classes * places + i % places;
    const auto at = [&](auto c) { return first[static_cast<std::size_t>(c) * places]; };
    std::size_t top = 0;
    for (std::size_t c = 1; c < classes; ++c)
      if (at(c) > at(top)) top = c;
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(at(c) - at(top)));
    const double entropy = std::log(sum) - static_cast<double>(at(labels[i]) - at(top));
    if (top == static_cast<std::size_t>(labels[i]) && !std::isnan(entropy)) ++correct;
    loss += entropy;
  }
  return loss / static_cast<double>(places);
}

}  // namespace straggler::reference
