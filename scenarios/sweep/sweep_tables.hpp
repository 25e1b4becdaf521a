// points.csv and groups.csv of a sweep.
#pragma once
#include <string>
#include <vector>

#include "scenarios/results/endings.hpp"
#include "scenarios/sweep/sweep_run.hpp"

namespace straggler {

/// Swept paths, `repeat`, `seed`, then the scalars of summary.json, derived ones (derived_scalars.hpp) and times to thresholds; a row for
/// each finished point.
std::string points_csv(const std::vector<std::string>& columns, const SweepOutcome& outcome);
/// Swept paths, `count`, `outcome` unless all points finished, then for each scalar that is a number X_mean, X_sd, X_ci95 (half of the 95 %
/// confidence interval of the mean) and X_count: of how many repeats, since points that did not finish are left out, and some scalars may
/// not apply (a target that was not reached).
std::string groups_csv(const std::vector<std::string>& columns, const SweepOutcome& outcome);
/// For people: a line for each group, with the deciding figures; then a warning of points that did not finish, or learned nothing.
std::string sweep_table(const std::vector<std::string>& columns, const SweepOutcome& outcome);

}  // namespace straggler
