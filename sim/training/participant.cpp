#include "sim/training/participant.hpp"

namespace straggler {

double Participant::epochs_at(const Weights& weights) const {
  if (plan().epoch_samples == 0) return 0;
  // Between two versions a worker assumes that the others have made as much progress as itself.
  const std::uint64_t own = weights->local_samples;
  const std::uint64_t local = is_worker() ? plan().samples_beside(own, self_, weights->participants) : own;
  return static_cast<double>(weights->progress + local) / static_cast<double>(plan().epoch_samples);
}

void Operation::complete_unheard() {
  unheard_ = true;
  set_waiter(std::noop_coroutine());
}

void Operation::complete() {
  settle();
  node_->backend().wake(*this);
}

void Operation::happen() {
  if (state_ != State::woken) return node_->backend().due(*this);
  resume();
}

}  // namespace straggler
