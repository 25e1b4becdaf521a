// One gradient at a time, outside of any lineage: for a thread of the caller's own, who may lose interest meanwhile.
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
  /// The value of Lineage::gradient(weights, batch), bit for bit, into `out` of length(). Once `cancelled` is set it ends soon, and what
  /// is in `out` is of no use.
  void compute(const float* weights, const Batch& batch, const std::atomic<bool>& cancelled, float* out);

 private:
  Arithmetic arithmetic_;
  Scratch scratch_;
  std::vector<AlignedFloats> lanes_;  // of gradients that are cut up
};

}  // namespace straggler
