// What every vector of a run has behind parameters and running statistics, and in which format gradients are computed and sent.
#pragma once
#include <cstddef>
#include <cstdint>

#include "models/kernels/precision.hpp"

namespace straggler {

/// The format that gradients are computed and sent in, and what stands in the registers at the end of every vector: first the
/// optimizer's own (OptimizerEntry::registers), then, where the loss scale is dynamic, three of it. Those are, of weights, the
/// scale, the number of good updates since it last changed, and that of the updates that were skipped on the way to them; of a gradient,
/// whether all of it is finite (1 or 0), and zeros.
struct Numerics {
  Precision precision = Precision::fp32;
  float loss_scale = 1;            // a power of two; at the start, where it is dynamic
  std::uint32_t growth_every = 0;  // good updates after which a dynamic scale doubles; 0: the scale is fixed
  std::size_t optimizer_registers = 0;
  static constexpr std::size_t scaling_registers = 3;
  bool dynamic() const { return growth_every > 0; }
  std::size_t registers() const { return optimizer_registers + (dynamic() ? scaling_registers : 0); }
};

}  // namespace straggler
