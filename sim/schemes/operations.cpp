#include "sim/schemes/operations.hpp"

#include <array>
#include <stdexcept>

#include "sim/schemes/node.hpp"

namespace straggler {

bool Operation::begin() {
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
  waiter_.resume();  // this operation may be gone after it
}

GradientOperation::GradientOperation(Node& node, const Weights& weights, const DrawnBatch& batch)
    : Operation(node, Kind::gradient), batch_(batch), weights_(weights.value), version_(weights.version), progress_(weights.progress) {}

Gradient GradientOperation::await_resume() {
  Gradient gradient;
  gradient.value = node().lineage().gradient(weights_, batch_);
  gradient.version = version_;
  gradient.progress = progress_;
  gradient.samples = batch_.size;
  gradient.at = weights_;
  gradient.batches.push_back(batch_);
  Contribution contribution;
  contribution.worker = node().self();
  contribution.steps = 1;
  contribution.samples = batch_.size;
  contribution.read_version = version_;
  contribution.first_position = batch_.position;
  gradient.made.push_back(contribution);
  return gradient;
}

StepOperation::StepOperation(Node& node, const Weights& weights, const Gradient& gradient)
    : Operation(node, Kind::step), weights_(weights), gradient_(gradient) {}

Weights StepOperation::await_resume() {
  Node& here = node();
  weights_.value = here.plan().optimizer->step(here.lineage(), weights_.value, gradient_.value, here.epochs_at(weights_),
                                               gradient_.averaged, here.optimizer());
  weights_.local_samples += gradient_.samples;
  for (const Contribution& made : gradient_.made) {
    // A worker's local steps are one contribution; what a server applies are one each.
    if (!here.is_server() && made.worker == here.self() && !weights_.made.empty() && weights_.made.back().worker == here.self()) {
      weights_.made.back().steps += made.steps;
      weights_.made.back().samples += made.samples;
    } else {
      weights_.made.push_back(made);
    }
  }
  return std::move(weights_);
}

void MailOperation::take(MessagePointer item) {
  message = std::move(item);
  node().backend().received(*this);
}

void ReceiveOperationBase::prepare() {
  if (!anyone_) return;
  const std::int32_t forced = node().backend().forced_choice(node().self());
  if (forced >= 0) from_ = forced;
}

void ReceiveOperationBase::note_choice() const {
  if (anyone_) node().backend().chosen(node().self(), message->from);
}

std::string ReceiveOperationBase::describe() const {
  static constexpr std::array<const char*, 2> what = {"weights", "a gradient"};
  std::string text = node().name() + " waits for " + what[payload_kind_] + " from ";
  if (from_ == anyone) return text + "anyone";
  return text + (from_ >= node().workers() ? "server " + std::to_string(from_ - node().workers()) : "worker " + std::to_string(from_));
}

std::string SignalOperation::describe() const { return node().name() + " waits for signal " + std::to_string(number_); }

PublishOperation::PublishOperation(Node& node, const Weights& weights) : Operation(node, Kind::publish), weights_(weights) {
  ++weights_.version;
  weights_.progress += weights_.local_samples;
  weights_.local_samples = 0;
}

Weights PublishOperation::await_resume() {
  weights_.made.clear();
  return std::move(weights_);
}

}  // namespace straggler
