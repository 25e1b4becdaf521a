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

  const std::size_t lanes = arithmetic_.lanes(formula);
  if (lanes == 1) return arithmetic_.evaluate(formula, inputs, out, scratch_);
  std::vector<float*> parts{out};
  while (lanes_.size() + 1 < lanes) lanes_.push_back(allocate_aligned(length()));
  for (std::size_t lane = 1; lane < lanes; ++lane) parts.push_back(lanes_[lane - 1].get());
  for (std::size_t lane = 0; lane < lanes; ++lane) arithmetic_.lane(formula, inputs, lane, parts[lane], scratch_);
  arithmetic_.add_lanes(inputs, parts, scratch_);
}

}  // namespace straggler
