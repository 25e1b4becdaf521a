#include "sim/engine/simulation.hpp"

#include <algorithm>

namespace straggler {

void Simulation::set_pulse(std::uint64_t events, std::function<void()> pulse) {
  pulse_every_ = events;
  next_pulse_ = queue_.fired() + events;
  pulse_ = std::move(pulse);
}

void Simulation::Life::begin(Process process) {
  process_ = std::move(process);
  process_.watch(*this);
  simulation_.queue_.after(Time(), *this);
}

void Simulation::Life::end() {
  cancel();
  process_.reset();
}

void Simulation::Life::process_ended(std::exception_ptr failure) noexcept {
  --simulation_.living_;
  simulation_.ended_.push_back(id_);
  if (failure && !simulation_.failure_) simulation_.failure_ = failure;
}

Simulation::ProcessId Simulation::spawn(Process process) {
  ProcessId id = processes_.size();
  if (ended_.empty()) {
    processes_.emplace_back(*this, id);
  } else {
    id = ended_.back();
    ended_.pop_back();
  }
  ++living_;
  ended_.reserve(processes_.size());  // process_ended must not throw
  processes_[id].begin(std::move(process));
  return id;
}

void Simulation::kill(ProcessId id) {
  Life& life = processes_[id];
  if (!life.living()) return;
  --living_;
  life.end();
  ended_.push_back(id);
}

void Simulation::kill_all() {
  for (ProcessId id = 0; id < processes_.size(); ++id) kill(id);
}

void Simulation::add(WaitingPlace& place) {
  place.previous_ = last_place_;
  place.next_ = nullptr;
  (last_place_ ? last_place_->next_ : first_place_) = &place;
  last_place_ = &place;
}

void Simulation::remove(WaitingPlace& place) {
  (place.previous_ ? place.previous_->next_ : first_place_) = place.next_;
  (place.next_ ? place.next_->previous_ : last_place_) = place.previous_;
}

bool Simulation::run(Time until) {
  stopped_ = false;
  while (!stopped_) {
    const Time event = queue_.next();
    Time flow = Time::never();
    if (continuous_) {
      // Changes of this instant are worked in before the clock leaves it, and before the next moment is believed.
      if (continuous_->unsettled() && event > queue_.now()) {
        continuous_->settle();
        continue;
      }
      if (!continuous_->unsettled()) flow = continuous_->next();
    }
    if (event == Time::never() && flow == Time::never()) {
      if (living_ > 0) report_deadlock();
      return false;
    }
    if (std::min(event, flow) > until) return false;
    if (event <= flow) {
      queue_.fire_next();
    } else {
      queue_.advance(flow);
      continuous_->act();
      ++continuous_acts_;
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (pulse_ && queue_.fired() >= next_pulse_) {
      next_pulse_ = queue_.fired() + pulse_every_;
      pulse_();
    }
  }
  return true;
}

void Simulation::report_deadlock() const {
  std::vector<std::string> who;
  for (const WaitingPlace* place = first_place_; place; place = place->next_) place->describe_waiting(who);
  std::string text = "deadlock at " + std::to_string(queue_.now().seconds()) + " s: " + std::to_string(living_) +
                     (living_ == 1 ? " process waits" : " processes wait") + " and nothing is left that could wake them";
  constexpr std::size_t most = 20;
  for (std::size_t i = 0; i < who.size() && i < most; ++i) text += "\n  " + who[i];
  if (who.size() > most) text += "\n  and " + std::to_string(who.size() - most) + " more";
  throw Deadlock(text);
}

}  // namespace straggler
