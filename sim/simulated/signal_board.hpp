// Control signals between workers: numbered words that carry no bytes.
#pragma once
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/fabric.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/training/received_signals.hpp"

namespace straggler {

/// Each worker keeps the highest number that has reached it. A broadcast is one event per distinct latency, not one per receiver: where all
/// workers finish together, each of p broadcasts would otherwise be p - 1 messages.
class SignalBoard {
 public:
  SignalBoard(Simulation& simulation, const Fabric& fabric, Rank workers);
  SignalBoard(const SignalBoard&) = delete;
  SignalBoard& operator=(const SignalBoard&) = delete;
  ~SignalBoard();

  void broadcast(Rank from, std::uint64_t number);
  /// True: such a signal has come already.
  bool wait(SignalOperation& operation);
  void leave(SignalOperation& operation) noexcept;
  void describe_waiting(std::vector<std::string>& who) const;

 private:
  class Wave;
  void arrive(Rank at, std::uint64_t number) { worker(at).arrive(number); }
  void arrive_at_all_but(Rank from, std::uint64_t number);

  /// Made when first needed: most schemes send no signals.
  ReceivedSignals& worker(Rank rank) {
    if (workers_.empty()) workers_.resize(index_of(count_));
    return workers_[index_of(rank)];
  }

  Simulation& simulation_;
  const Fabric& fabric_;
  Rank count_;
  std::vector<ReceivedSignals> workers_;  // [count_], or empty
  /// All workers but `except` (anyone: none lacks it) have got a signal of at least this number.
  struct {
    std::optional<std::uint64_t> number;
    Rank except = anyone;
  } known_;
  struct WaveHook : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {};
  boost::intrusive::list<WaveHook, boost::intrusive::constant_time_size<false>> waves_;
};

}  // namespace straggler
