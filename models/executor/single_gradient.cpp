#include "models/executor/single_gradient.hpp"

namespace straggler {

void SingleGradient::compute(const float* weights, const Batch& batch, const std::atomic<bool>& cancelled, float* out) {
  Formula formula;
  formula.kind = Formula::Kind::gradient;
  formula.batches.push_back(batch);
  const InputValue inputs[] = {{const_cast<float*>(weights)}};  // only read
  arithmetic_.prepare(formula, 1);
  if (!scratch_.workspace) scratch_.workspace = arithmetic_.workspace();
  scratch_.workspace->cancelled = &cancelled;

  if (arithmetic_.lanes(formula) == 1) return arithmetic_.evaluate(formula, inputs, out, scratch_);
  if (!lane_) lane_ = allocate_aligned(length());
  arithmetic_.lanes_in_turn(formula, inputs, {out, lane_.get()}, scratch_);
}

}  // namespace straggler
