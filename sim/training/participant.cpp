#include "sim/training/participant.hpp"

namespace straggler {

std::string Participant::name_of(Rank rank) const {
  if (rank < workers()) return "worker " + std::to_string(rank);
  if (plan().aggregation.has(rank)) return "aggregator " + std::to_string(rank - plan().aggregation.first_rank);
  return "server " + std::to_string(rank - workers());
}

double Participant::epochs_at(const Weights& weights) const {
  if (plan().epoch_samples == 0) return 0;
  // Between two versions a worker reckons that the others have got as far as it has itself.
  const std::uint64_t local = weights->local_samples * (!is_worker() ? 1 : static_cast<std::uint64_t>(weights->participants));
  return static_cast<double>(weights->progress + local) / static_cast<double>(plan().epoch_samples);
}

std::vector<double> Participant::compression_scalars(const Gradient& gradient) {
  std::vector<double> scalars = plan().compression->scalars;
  switch (plan().compression->draws) {
    case Draws::none:
      break;
    case Draws::message:
      scalars.push_back(draw_number(plan().seed, self_, messages_));
      break;
    case Draws::version:
      scalars.push_back(draw_number(plan().seed, gradient->version()));
      break;
  }
  ++messages_;
  return scalars;
}

Gradient Participant::outgoing(const Gradient& gradient) {
  const Compression* const compression = plan().compression;
  if (!compression || !is_worker() || gradient->value().empty() || gradient->of_weights()) return gradient;
  if (workers() == 1 && backend().reduces()) return gradient;
  const Handle whole = gradient->value();
  std::vector<Handle> inputs = {whole};
  if (residual_) inputs.push_back(*residual_);
  std::vector<double> scalars = compression_scalars(gradient);
  const Handle sent = lineage().elementwise(*compression->rule, inputs, scalars);
  if (compression->error_feedback) {
    inputs.insert(inputs.begin() + 1, sent);
    residual_ = std::make_unique<Handle>(lineage().elementwise(rules::residual, inputs));
  }
  Gradient out = algebra().replaced(gradient, sent);
  out.edit().more.edit().compressed = CompressedForm{compression->bytes, std::move(scalars)};
  return out;
}

OperationSlot& slot_of(const Operation& operation) { return operation.node().slot(); }

bool Operation::begin() {
  if (state_ != State::idle) return state_ == State::done;
  prepare();
  state_ = State::pending;
  if (!node_->backend().start(*this)) return false;
  state_ = State::done;
  return true;
}

void Operation::give_up() noexcept {
  if (state_ == State::pending || state_ == State::woken) node_->backend().cancel(*this);
  Event::cancel();
  state_ = State::idle;
}

void Operation::complete_unheard() {
  unheard_ = true;
  waiter_ = std::noop_coroutine();
  parent_ = nullptr;
}

void Operation::settle() {
  if (parent_) parent_->completed(*this);
  state_ = State::woken;
}

void Operation::complete() {
  settle();
  node_->backend().wake(*this);
}

void Operation::complete_from_event() {
  settle();
  happen();
}

void Operation::happen() {
  if (state_ != State::woken) return node_->backend().due(*this);
  state_ = State::done;
  if (waiter_) waiter_.resume();  // this operation may be gone after it; without a waiter it was in flight
}

}  // namespace straggler
