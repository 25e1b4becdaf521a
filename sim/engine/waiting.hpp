// Where processes wait for each other: barriers and signals.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/simulation.hpp"

namespace straggler {

/// Everybody waits for the last of `parties`; then all go on, in the order in which they came, and the barrier is new.
class Barrier final : public WaitingPlace {
 public:
  Barrier(Simulation& simulation, std::size_t parties, std::string name);
  ~Barrier();
  std::size_t arrived() const { return waiting_.size(); }

  /// `co_await barrier.arrive();` A party that dies while it waits has not arrived.
  class Arrive final : public Wakeup {
   public:
    explicit Arrive(Barrier& barrier) : Wakeup(barrier.simulation_), barrier_(&barrier) {}
    ~Arrive();
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> waiter);
    void await_resume() const noexcept {}

   private:
    friend class Barrier;
    Barrier* barrier_;
    bool listed_ = false;
  };
  Arrive arrive() { return Arrive(*this); }
  void describe_waiting(std::vector<std::string>& who) const override;

 private:
  Simulation& simulation_;
  std::size_t parties_;
  std::string name_;
  std::vector<Arrive*> waiting_;
};

/// A number that only grows. Who waits for number n goes on once the signal stands at n or more; being numbered, a signal of
/// an earlier round cannot wake somebody who waits for a later one.
class Signal final : public WaitingPlace {
 public:
  Signal(Simulation& simulation, std::string name);
  ~Signal();
  std::uint64_t value() const { return value_; }
  /// Lower numbers than it stands at are ignored.
  void raise(std::uint64_t number);

  /// `co_await signal.reach(n);`
  class Reach final : public Wakeup {
   public:
    Reach(Signal& signal, std::uint64_t number) : Wakeup(signal.simulation_), signal_(&signal), number_(number) {}
    ~Reach();
    bool await_ready() const noexcept { return signal_->value_ >= number_; }
    void await_suspend(std::coroutine_handle<> waiter);
    void await_resume() const noexcept {}

   private:
    friend class Signal;
    Signal* signal_;
    std::uint64_t number_;
    bool listed_ = false;
  };
  Reach reach(std::uint64_t number) { return Reach(*this, number); }
  void describe_waiting(std::vector<std::string>& who) const override;

 private:
  Simulation& simulation_;
  std::string name_;
  std::uint64_t value_ = 0;
  std::vector<Reach*> waiting_;
};

}  // namespace straggler
