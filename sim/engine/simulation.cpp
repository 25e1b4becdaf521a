#include "sim/engine/simulation.hpp"

#include <algorithm>
#include <limits>

namespace straggler {

void Simulation::set_pulse(std::uint64_t events, std::function<void()> pulse) {
  pulse_every_ = events;
  attention_ = next_pulse_ = queue_.fired() + events;
  pulse_ = std::move(pulse);
}

// A process that was killed before it could start leaves its timer: the process in its place is started by it, or has been already.
void Simulation::start(void* self, std::uint32_t id) {
  Process& process = static_cast<Simulation*>(self)->processes_[id];
  if (process && !process.done()) process.start();
}

void Simulation::process_ended(std::uint32_t id, std::exception_ptr failure) noexcept {
  --living_;
  ended_.push_back(id);
  if (!failure || failure_) return;
  failure_ = failure;
  attention_ = 0;
}

Simulation::ProcessId Simulation::take_in(Process process) {
  ProcessId id = processes_.size();
  if (ended_.empty()) {
    if (id >= std::numeric_limits<std::uint32_t>::max()) throw std::length_error("a simulation has more than 2^32 processes");
    processes_.emplace_back();
    if (ended_.capacity() < processes_.capacity()) ended_.reserve(processes_.capacity());  // process_ended must not throw
  } else {
    id = ended_.back();
    ended_.pop_back();
  }
  ++living_;
  process.watch(*this, static_cast<std::uint32_t>(id));
  processes_[id] = std::move(process);
  return id;
}

Simulation::ProcessId Simulation::spawn(Process process) {
  const ProcessId id = take_in(std::move(process));
  queue_.after(Time(), start_, static_cast<std::uint32_t>(id));
  return id;
}

Simulation::ProcessId Simulation::spawn_now(Process process) {
  const ProcessId id = take_in(std::move(process));
  start(this, static_cast<std::uint32_t>(id));
  return id;
}

void Simulation::kill(ProcessId id) {
  if (!lives(id)) return;
  --living_;
  ended_.push_back(id);
  Process killed = std::move(processes_[id]);  // its frame's destructors may spawn
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

/// What is rarely necessary between two events: a failure, a pulse, the end. True: stopped.
[[gnu::noinline]] bool Simulation::attend() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (queue_.fired() >= next_pulse_) {
    next_pulse_ = queue_.fired() + pulse_every_;
    pulse_();
  }
  attention_ = stopped_ ? 0 : next_pulse_;
  return stopped_;
}

bool Simulation::run(Time until) {
  static constexpr ContinuousModel::Moment nothing_flows;
  const ContinuousModel::Moment& flows = continuous_ ? continuous_->moment() : nothing_flows;
  const Time last = std::min(until, Time::never() - Time::from_ticks(1));
  stopped_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));  // of a process that was started at once
  attention_ = next_pulse_;
  for (;;) {
    if (!queue_.fire_soon()) {
      const Time event = queue_.next();
      // Changes of this instant are worked in before the clock leaves it, and before the next moment is believed.
      if (flows.unsettled && event > queue_.now()) {
        continuous_->settle();
        continue;
      }
      if (flows.unsettled || event <= flows.next) {
        if (event > last) {
          if (event == Time::never() && living_ > 0) report_deadlock();
          return false;
        }
        queue_.fire_stored(event);
      } else {
        if (flows.next > until) return false;
        queue_.advance(flows.next);
        continuous_->act();
        ++continuous_acts_;
      }
    }
    if (queue_.fired() >= attention_ && attend()) return true;
  }
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
