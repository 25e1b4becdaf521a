#include "sim/engine/waiting.hpp"

#include <algorithm>

namespace straggler {

Barrier::Barrier(Simulation& simulation, std::size_t parties, std::string name)
    : simulation_(simulation), parties_(parties), name_(std::move(name)) {
  simulation_.add(*this);
}

Barrier::~Barrier() {
  simulation_.remove(*this);
  for (Arrive* party : waiting_) party->listed_ = false;
}

Barrier::Arrive::~Arrive() {
  if (listed_) std::erase(barrier_->waiting_, this);
}

bool Barrier::Arrive::await_suspend(std::coroutine_handle<> waiter) {
  if (barrier_->waiting_.size() + 1 < barrier_->parties_) {
    waiter_ = waiter;
    listed_ = true;
    barrier_->waiting_.push_back(this);
    return true;
  }
  for (Arrive* party : std::exchange(barrier_->waiting_, {})) {
    party->listed_ = false;
    party->wake();
  }
  return false;
}

void Barrier::describe_waiting(std::vector<std::string>& who) const {
  if (waiting_.empty()) return;
  who.push_back(std::to_string(waiting_.size()) + " of " + std::to_string(parties_) + " parties wait at barrier " + name_);
}

Signal::Signal(Simulation& simulation, std::string name) : simulation_(simulation), name_(std::move(name)) { simulation_.add(*this); }

Signal::~Signal() {
  simulation_.remove(*this);
  for (Reach* waiter : waiting_) waiter->listed_ = false;
}

void Signal::raise(std::uint64_t number) {
  if (number <= value_) return;
  value_ = number;
  std::vector<Reach*> later;
  for (Reach* waiter : std::exchange(waiting_, {})) {
    if (waiter->number_ > value_) {
      later.push_back(waiter);
      continue;
    }
    waiter->listed_ = false;
    waiter->wake();
  }
  waiting_ = std::move(later);
}

Signal::Reach::~Reach() {
  if (listed_) std::erase(signal_->waiting_, this);
}

void Signal::Reach::await_suspend(std::coroutine_handle<> waiter) {
  waiter_ = waiter;
  listed_ = true;
  signal_->waiting_.push_back(this);
}

void Signal::describe_waiting(std::vector<std::string>& who) const {
  for (const Reach* waiter : waiting_)
    who.push_back("a process waits for signal " + name_ + " to reach " + std::to_string(waiter->number_) + ", it stands at " +
                  std::to_string(value_));
}

}  // namespace straggler
