// What was measured beside what is expected: "is this normal?".
#pragma once
#include "scenarios/import/measured_tables.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler::cli {

/// Prints a row for each size: measured, expected of the scenario's cluster, their ratio, and what limits the expected time.
void print_measured(const MeasuredTable& table, const Scenario& scenario);

}  // namespace straggler::cli
