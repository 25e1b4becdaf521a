// Money and energy of machines, by what they do.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/rank.hpp"
#include "sim/engine/time.hpp"
#include "sim/record/phase.hpp"

namespace straggler {

/// Sums of ticks over workers can pass 63 bits.
__extension__ typedef __int128 WideTicks;

/// Watts.
struct Power {
  double busy = 0, communicating = 0, idle = 0;
};

/// Of one machine.
struct Tariff {
  double price_per_hour = 0;
  bool billed_while_down = false;
  Power power;

  /// Of machines that spent so many ticks, all together, in each phase.
  double price(const ByPhase<WideTicks>& ticks) const;
  double joules(const ByPhase<WideTicks>& ticks) const;
};

/// All that costs in a run.
struct Tariffs {
  struct Group {
    std::size_t workers = 0;
    Tariff tariff;
  };
  bool priced = false, powered = false;  // prices, and energy, are given somewhere: what has none costs nothing
  std::vector<Group> groups;             // of workers, in the order of ranks
  Tariff server;
  std::size_t servers = 0;      // that act alike: what one does, each does
  std::size_t aggregators = 0;  // on hosts of their own; each costs what a server does
  double joules_per_byte = 0;   // of a message's payload, once
  std::string currency;
  bool any() const { return priced || powered; }
};

/// Of a run up to some moment; none: it is not given.
struct Costs {
  std::optional<double> price, joules;
};

/// The time up to `now` in which a worker was absent. Workers without events may be absent while their account says idle.
using AbsentTime = std::function<Time(Rank worker, Time now)>;

}  // namespace straggler
