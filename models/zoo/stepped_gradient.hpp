// A gradient and the step of SGD along it, in one pass over the weights.
#pragma once
#include "models/zoo/model.hpp"

namespace straggler {

class SteppedGradient {
 public:
  /// Model::gradient, and then `step` along the gradient at every parameter, with the same bits. step.w_out may be `weights` or `gradient`:
  /// the gradient reads a weight for the last time before it is stepped.
  virtual double gradient_and_step(const float* weights, const Rows& rows, bool accumulate, float* gradient, const WeightStep& step,
                                   Workspace& workspace) const = 0;

 protected:
  ~SteppedGradient() = default;
};

}  // namespace straggler
