// Runs a schedule message by message.
#pragma once
#include <functional>
#include <memory>
#include <span>

#include "sim/cluster/core_pool.hpp"
#include "sim/cluster/transport.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/network/network.hpp"

namespace straggler {

/// What moving one message costs beside its flow.
struct CollectiveCosts {
  double reduce_seconds_per_byte = 0;  // γ
  // Of processor time on each side, for a message and for each of its bytes; a rank's messages follow one another.
  Time per_message;
  double per_byte = 0;        // seconds
  CorePool* cores = nullptr;  // that do this for all ranks; null: each has its own
  Time handling(std::uint64_t bytes) const {
    return per_byte > 0 ? per_message + Time::from_seconds(per_byte * static_cast<double>(bytes)) : per_message;
  }
  bool handles() const { return per_message > Time() || per_byte > 0; }
  /// When a processor that is free from `ready` on has handled the message.
  Time handled(Time ready, std::uint64_t bytes) const { return cores ? cores->run(ready, handling(bytes)) : ready + handling(bytes); }
};

/// One collective under way. Destroying it takes its messages out of the network. Can be started again once all ranks are done.
class StepwiseRun {
 public:
  /// `done(rank)` is called when the rank has done its last round, from the event queue or the network; it may destroy nothing of this.
  /// Referred-to objects outlive it.
  StepwiseRun(Simulation& simulation, Network& network, Transport& transport, std::function<void(CollectiveRank)> done);
  ~StepwiseRun();
  StepwiseRun(const StepwiseRun&) = delete;
  StepwiseRun& operator=(const StepwiseRun&) = delete;

  /// All ranks start now. `schedule` outlives the run. `ranks`: of the fabric, by rank in the schedule; empty: the same.
  void start(const CollectiveSchedule& schedule, const CollectiveCosts& costs, std::span<const std::uint32_t> ranks = {});
  /// Breaks off what is under way.
  void stop();
  bool running() const;
  std::uint64_t messages() const;  // sent since construction

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace straggler
