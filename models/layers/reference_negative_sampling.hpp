// Negative sampling by its formula, in any scalar: the reference of the kernels.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace straggler::reference {

/// Σ scale_p (log(1 + e^-(u · v_0)) + Σ_j>0 log(1 + e^(u · v_j))) over pairs p, u: row centres[p] of `input`, v_j: row
/// targets[p * each + j] of `output`; rows of `width` numbers. Adds the gradient to d_input and d_output.
template <class Scalar>
double negative_sampling(std::size_t width, std::size_t each, std::span<const std::uint32_t> centres,
                         std::span<const std::uint32_t> targets, std::span<const float> scale, const Scalar* input, const Scalar* output,
                         Scalar* d_input, Scalar* d_output) {
  double loss = 0;
  for (std::size_t p = 0; p < centres.size(); ++p) {
    const Scalar* const u = input + centres[p] * width;
    for (std::size_t j = 0; j < each; ++j) {
      const Scalar* const v = output + targets[p * each + j] * width;
      Scalar product = 0;
      for (std::size_t i = 0; i < width; ++i) product += u[i] * v[i];
      const Scalar sign = j == 0 ? Scalar(-1) : Scalar(1), weight = static_cast<Scalar>(scale[p]);
      loss += static_cast<double>(weight) * std::log1p(std::exp(static_cast<double>(sign * product)));
      const Scalar factor = weight * sign / (1 + std::exp(-sign * product));
      for (std::size_t i = 0; i < width; ++i) {
        d_input[centres[p] * width + i] += factor * v[i];
        d_output[targets[p * each + j] * width + i] += factor * u[i];
      }
    }
  }
  return loss;
}

}  // namespace straggler::reference
