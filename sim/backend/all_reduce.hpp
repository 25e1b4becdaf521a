// One all-reduce after the other, in simulated time.
#pragma once
#include <memory>
#include <vector>

#include "sim/backend/simulated_backend.hpp"

namespace straggler {

/// Ranks are idle until the last has arrived and communicate after, in both fidelities. A rank that is done with one
/// all-reduce may already wait in the next while others still run.
class SimulatedBackend::AllReduce final : private Arrival, private Event {
 public:
  explicit AllReduce(SimulatedBackend& backend);
  /// True: complete already (a single worker).
  bool join(AllReduceOperationBase& operation);
  void cancel(AllReduceOperationBase& operation) noexcept;
  void describe_waiting(std::vector<std::string>& who) const;

 private:
  void begin();
  void begin_fluid();
  void begin_stepwise();
  void arrived() override;
  void happen() override;
  void finish_all();
  void finish(std::size_t rank);
  template <class T>
  void average();

  SimulatedBackend& backend_;
  std::vector<AllReduceOperationBase*> joining_, running_;  // by rank; null: not there
  std::size_t joined_ = 0;
  std::unique_ptr<AllReduceRun> run_;
  FluidCollective fluid_;
  std::uint64_t fluid_bytes_ = ~std::uint64_t{0};  // what fluid_ was made for
  Payload result_, result_of_others_;              // contributions are recorded by worker 0 alone
};

}  // namespace straggler
