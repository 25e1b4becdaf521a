// Softmax cross entropy, -log softmax(scores)[label], at each place of a sample, over a set of kernels. Scores are in panels, a sample's as
// [classes][places]; labels are [rows][places].
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/kernels/kernels.hpp"

namespace straggler {

struct SoftmaxCrossEntropy {
  std::size_t classes, places = 1;

  /// Turns scores into ∂/∂scores of what it returns: Σ scale[row] * the mean loss of the row's places.
  double backward(const Kernels& kernels, std::size_t rows, float* scores, const std::int32_t* labels, const float* scale) const {
    if (places == 1) return kernels.softmax_cross_entropy(rows, classes, scores, labels, scale);
    double loss = 0;
    float shares[panel_rows];
    for_places(rows, scores, labels, [&](std::size_t first, std::size_t count, float* place, const std::int32_t* its) {
      for (std::size_t i = 0; i < count; ++i) shares[i] = scale[first + i] / static_cast<float>(places);
      loss += kernels.softmax_cross_entropy(count, classes, place, its, shares);
      return true;
    });
    return loss;
  }
  /// Σ over the rows of the mean loss of their places; adds to `correct` the number of places with the largest score at their label.
  double evaluate(const Kernels& kernels, std::size_t rows, float* scores, const std::int32_t* labels, std::uint64_t& correct) const {
    if (places == 1) return kernels.softmax_evaluate(rows, classes, scores, labels, &correct);
    double loss = 0;
    for_places(rows, scores, labels, [&](std::size_t, std::size_t count, const float* place, const std::int32_t* its) {
      loss += kernels.softmax_evaluate(count, classes, place, its, &correct);
      return false;
    });
    return loss / static_cast<double>(places);
  }

 private:
  /// Calls use(first row, rows, scores, labels) for each place of each panel, with its scores as a panel of `classes` and its labels side
  /// by side. True: the scores have changed.
  template <class Use>
  void for_places(std::size_t rows, float* scores, const std::int32_t* labels, const Use& use) const {
    std::vector<float> place(classes * panel_rows);
    std::int32_t its[panel_rows];
    for (std::size_t first = 0; first < rows; first += panel_rows) {
      const std::size_t count = std::min(panel_rows, rows - first);
      for (std::size_t p = 0; p < places; ++p) {
        float* const at = scores + (first * classes * places) + p * panel_rows;
        const std::size_t step = places * panel_rows;  // to the next class
        for (std::size_t c = 0; c < classes; ++c) std::copy_n(at + c * step, panel_rows, place.data() + c * panel_rows);
        for (std::size_t i = 0; i < count; ++i) its[i] = labels[(first + i) * places + p];
        if (!use(first, count, place.data(), its)) continue;
        for (std::size_t c = 0; c < classes; ++c) std::copy_n(place.data() + c * panel_rows, panel_rows, at + c * step);
      }
    }
  }
};

}  // namespace straggler
