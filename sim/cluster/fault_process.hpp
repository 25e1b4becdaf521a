// Faults that happen again and again: every unit of a kind passes through the same stages, in its own time.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/duration_law.hpp"
#include "sim/cluster/fault_units.hpp"
#include "sim/engine/time.hpp"

namespace straggler {

/// What happens to a unit. notice: it will fail at the end of the next stage, and works until then. fail: its workers stop, its servers'
/// replicas are gone, a cable carries nothing. impair: its workers are slower, or its links narrower, until it is restored.
enum class FaultAct : std::uint8_t { notice, fail, repair, impair, restore };

struct FaultProcess {
  struct Stage {
    std::shared_ptr<const DurationLaw> lasts;  // null: as `recorded` says
    FaultAct then{};                           // at its end
  };
  UnitKind of = UnitKind::worker;
  std::vector<Stage> cycle;     // begun anew after the last; a unit is new at the beginning of the run
  std::string stream;           // the random stream of unit U is U/`stream`; stage k since the beginning uses draw k
  double times_slower = 1;      // impair: of its workers' computing
  double bandwidth_factor = 1;  // impair: of its links
  /// (unit, when its stages end), in ascending order; of units that are not listed nothing is recorded.
  std::vector<std::pair<std::uint32_t, std::vector<Time>>> recorded = {};
  bool fails() const {
    return std::ranges::any_of(cycle, [](const Stage& stage) { return stage.then == FaultAct::fail; });
  }
};

}  // namespace straggler
