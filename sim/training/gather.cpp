#include "sim/training/gather.hpp"

namespace straggler {

void RoundsOfGroup::add(const Weights& mean) {
  samples_ += mean->local_samples;
  for (const Contribution& made : mean->made()) {
    const auto known = std::ranges::find(made_, made.worker, &Contribution::worker);
    if (known == made_.end()) {
      made_.push_back(made);
      continue;
    }
    known->steps += made.steps;
    known->samples += made.samples;
    known->spent += made.spent;
  }
}

Weights RoundsOfGroup::contribution(const Weights& start, Weights weights) {
  std::ranges::sort(made_, {}, &Contribution::worker);
  WeightsState& state = weights.edit();
  state.progress = start->progress;
  state.local_samples = samples_;
  if (!made_.empty()) state.more.edit().made = std::move(made_);
  return weights;
}

}  // namespace straggler
