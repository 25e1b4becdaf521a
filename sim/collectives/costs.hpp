// Costs of a collective and its messages in addition to the flows.
#pragma once
#include <cstdint>

#include "sim/cluster/core_pool.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/engine/time.hpp"

namespace straggler {

struct CollectiveCosts {
  double reduce_seconds_per_byte = 0;  // γ
  // Processor time on each side, per message and per byte; a rank handles its messages one after another.
  Time per_message;
  double per_byte = 0;        // seconds
  CorePool* cores = nullptr;  // that do this for all ranks; null: each has its own
  Time launch = {};           // of each rank, before its first round
  Time handling(std::uint64_t bytes) const {
    return per_byte > 0 ? per_message + Time::from_seconds(per_byte * static_cast<double>(bytes)) : per_message;
  }
  /// From the beginning of a rank's part until its first round. A collective without rounds is never launched.
  Time before_first_round(const CollectiveSchedule& schedule) const {
    return schedule.rounds() > 0 ? launch + schedule.start_cost() : Time();
  }
  bool handles() const { return per_message > Time() || per_byte > 0; }
  /// When a processor that is free from `ready` on has handled the message.
  Time handled(Time ready, std::uint64_t bytes) const { return cores ? cores->run(ready, handling(bytes)) : ready + handling(bytes); }
};

}  // namespace straggler
