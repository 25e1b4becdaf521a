// Computes single gradients outside of any lineage, on the caller's own thread, with cancellation.
#pragma once
#include <atomic>
#include <span>

#include "models/executor/arithmetic.hpp"

namespace straggler {

/// Not for several threads at once. The model, data and partition outlive it.
class SingleGradient {
 public:
  SingleGradient(const Model& model, const Dataset& data, const Partition& partition, const Kernels& kernels, std::uint64_t seed,
                 const Numerics& numerics = {})
      : arithmetic_(model, data, partition, kernels, seed, numerics, false) {}

  std::size_t length() const { return arithmetic_.length(); }
  /// Writes the value of Lineage::gradient(weights, batch), bit for bit, to `out` of length(). Once `cancelled` is set it returns soon, and
  /// the content of `out` is invalid.
  void compute(const float* weights, const Batch& batch, const std::atomic<bool>& cancelled, float* out);

 private:
  Arithmetic arithmetic_;
  Scratch scratch_;
  AlignedFloats lane_;  // of large gradients
};

}  // namespace straggler
