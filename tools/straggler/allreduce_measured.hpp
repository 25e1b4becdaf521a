// What was measured beside what is expected: "is this normal?".
#pragma once
#include "scenarios/import/measured_tables.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler::cli {

/// Links that nobody gave, so a verdict speaks of an assumption.
struct AssumedLinks {
  bool between = false, inside = false, one_per_host = false;  // of hosts; of ranks in one; that each rank has a host
  bool one_host = false;                                       // that one has all ranks
};

/// Prints a row for each size: measured, expected of the scenario's cluster, their ratio, and what limits the expected time.
void print_measured(const MeasuredTable& table, const Scenario& scenario, const AssumedLinks& assumed);

}  // namespace straggler::cli
