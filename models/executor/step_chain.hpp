// A gradient and the nodes of SGD's step along it, computed together: the step goes over the weights as the gradient becomes known, and
// the gradient itself is never read back.
#pragma once
#include <cstddef>

#include "models/kernels/kernels.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

/// The nodes behind the gradient in the plan: the new velocity, if there is one, and the new weights.
struct StepChain {
  LineageNode* velocity = nullptr;
  LineageNode* weights = nullptr;
  WeightStep step;
  std::size_t length() const { return velocity ? 2 : 1; }
};

}  // namespace straggler
