// One simulated world: a clock, pending events, its processes, and a continuous part. No globals: two simulations may run side by side.
#pragma once
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/engine/continuous.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/process.hpp"

namespace straggler {

/// Processes wait and no event is left that could wake them. what() lists each waiting process and its reason, one per line.
struct Deadlock : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A place where processes wait (a mailbox, an all-reduce): lists its waiters in a deadlock.
class WaitingPlace {
 public:
  /// Appends sentences like "worker 3 waits for a message from server 0".
  virtual void describe_waiting(std::vector<std::string>& who) const = 0;

 protected:
  WaitingPlace() = default;
  ~WaitingPlace() = default;
  WaitingPlace(const WaitingPlace&) = delete;
  WaitingPlace& operator=(const WaitingPlace&) = delete;

 private:
  friend class Simulation;
  WaitingPlace *previous_ = nullptr, *next_ = nullptr;
};

class Simulation final : private ProcessWatcher {
 public:
  Simulation() : start_(queue_.register_handler(&Simulation::start, this)) {}
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  EventQueue& queue() { return queue_; }
  Time now() const { return queue_.now(); }

  /// At most one; outlives the simulation's runs.
  void attach(ContinuousModel& model) { continuous_ = &model; }
  /// Called every `events` events, between two of them.
  void set_pulse(std::uint64_t events, std::function<void()> pulse);

  using ProcessId = std::size_t;
  /// The process starts at this instant, through the queue. Its id may be reused once it has ended.
  ProcessId spawn(Process process);
  /// The same, but it starts before this returns: for the many processes of the beginning.
  ProcessId spawn_now(Process process);
  /// Cancels it: its frame dies, with all operations in it. No effect if it has ended.
  void kill(ProcessId id);
  void kill_all();
  std::size_t living() const { return living_; }

  /// Runs until stop(), or until the next event lies beyond `until`, or until no event is left; true if stopped. Throws a process's
  /// exception, and Deadlock if processes wait although no event is left.
  bool run(Time until = Time::never());
  void stop() {
    stopped_ = true;
    attention_ = 0;
  }
  std::uint64_t events() const { return queue_.fired() + continuous_acts_; }

  void add(WaitingPlace& place);
  void remove(WaitingPlace& place);

  /// `co_await simulation.delay(span)`.
  class Delay final : public Event {
   public:
    Delay(Simulation& simulation, Time span) : simulation_(simulation), span_(span) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
      waiter_ = waiter;
      simulation_.queue_.after(span_, *this);
    }
    void await_resume() const noexcept {}

   private:
    void happen() override { waiter_.resume(); }
    Simulation& simulation_;
    Time span_;
    std::coroutine_handle<> waiter_;
  };
  Delay delay(Time span) { return Delay(*this, span); }

 private:
  ProcessId take_in(Process process);
  static void start(void* self, std::uint32_t id);
  void process_ended(std::uint32_t id, std::exception_ptr failure) noexcept override;
  bool lives(ProcessId id) const { return processes_[id] && !processes_[id].done(); }

  bool attend();
  [[noreturn]] void report_deadlock() const;

  EventQueue queue_;
  ContinuousModel* continuous_ = nullptr;
  WaitingPlace *first_place_ = nullptr, *last_place_ = nullptr;
  std::function<void()> pulse_;
  std::uint64_t pulse_every_ = 0, next_pulse_ = ~std::uint64_t{0}, continuous_acts_ = 0;
  std::uint64_t attention_ = 0;  // attend() is due once this many events have fired: next_pulse_, or 0 after a stop or failure
  std::size_t living_ = 0;
  bool stopped_ = false;
  std::exception_ptr failure_;
  std::vector<ProcessId> ended_;
  EventQueue::Kind start_;          // timers that start processes
  std::vector<Process> processes_;  // last: frames die first, before the objects they refer to
};

}  // namespace straggler
