// Recorded failures: a CSV with the columns unit, from_s, to_s.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/fault_units.hpp"
#include "sim/engine/time.hpp"

namespace straggler {

/// For each unit that the file names, in the order of units: when it fails, is repaired, fails again, and so on, ascending. Spans that
/// touch or overlap are one; without to_s a unit stays down. A number alone names a unit of the kind `of`. Throws std::invalid_argument.
std::vector<std::pair<FaultUnit, std::vector<Time>>> read_failure_trace(const std::string& path, const FaultUnits& units, UnitKind of);

}  // namespace straggler
