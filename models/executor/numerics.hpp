// The registers behind the parameters and running statistics of every vector, and the format in which gradients are computed and sent.
#pragma once
#include <cstddef>
#include <cstdint>

#include "models/kernels/precision.hpp"

namespace straggler {

/// The format in which gradients are computed and sent, and the registers at the end of every vector: first the optimizer's own
/// (OptimizerEntry::registers), then, if the loss scale is dynamic, three of its own. For weights these hold the scale, the number of good
/// updates since its last change, and the number of updates skipped before these weights; for a gradient, whether all of it is finite (1 or
/// 0), and zeros.
struct Numerics {
  Precision precision = Precision::fp32;
  float loss_scale = 1;            // a power of two; the initial value if dynamic
  std::uint32_t growth_every = 0;  // good updates after which a dynamic scale doubles; 0: the scale is fixed
  std::size_t optimizer_registers = 0;
  static constexpr std::size_t scaling_registers = 3;
  bool dynamic() const { return growth_every > 0; }
  std::size_t registers() const { return optimizer_registers + (dynamic() ? scaling_registers : 0); }
};

}  // namespace straggler
