// The arithmetic of rules::clipped.
#include <algorithm>
#include <cmath>

#include "models/rules/elementwise.hpp"
#include "sim/base/registry.hpp"

namespace straggler::clipping {
namespace {

/// A NaN in x makes the norm one; the factor is then 1, and x keeps its NaN. Infinite values become NaN.
void apply_clipped(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                   const std::vector<double>& scalars, float* out) {
  const double norm = std::sqrt(kernels.squared_norm(extent.n, inputs[0]));
  const auto factor = static_cast<float>(std::min(1.0, scalars[0] / (norm + 1e-6)));
  kernels.weighted_sum(extent.n, 1, inputs.data(), &factor, out);
  if (inputs[0] != out) std::copy_n(inputs[0] + extent.own, extent.registers, out + extent.own);
}

const Register<ElementwiseEntry> clipped_entry({.name = "clipped",
                                                .summary = "a gradient, clipped by its norm",
                                                .parameters = {},
                                                .in_place = 0,
                                                .statistics = StatisticsRule::carry,
                                                .gradient = 0,
                                                .apply = apply_clipped});

}  // namespace
}  // namespace straggler::clipping
