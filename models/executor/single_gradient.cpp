#include "models/executor/single_gradient.hpp"

namespace straggler {

void SingleGradient::compute(const float* weights, const Batch& batch, const std::atomic<bool>& cancelled, float* out) {
  LineageNode at, node;
  at.value = const_cast<float*>(weights);  // only read
  node.formula.kind = Formula::Kind::gradient;
  node.formula.batches.push_back(batch);
  node.inputs.push_back(&at);
  arithmetic_.prepare(node);
  if (!scratch_.workspace) scratch_.workspace = arithmetic_.workspace();
  scratch_.workspace->cancelled = &cancelled;

  const std::size_t lanes = arithmetic_.lanes(node);
  if (lanes == 1) return arithmetic_.evaluate(node, out, scratch_);
  std::vector<float*> parts{out};
  while (lanes_.size() + 1 < lanes) lanes_.push_back(allocate_aligned(length()));
  for (std::size_t lane = 1; lane < lanes; ++lane) parts.push_back(lanes_[lane - 1].get());
  for (std::size_t lane = 0; lane < lanes; ++lane) arithmetic_.lane(node, lane, parts[lane], scratch_);
  arithmetic_.add_lanes(node, parts, scratch_);
}

}  // namespace straggler
