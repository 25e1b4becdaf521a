// The chart of shares of the workers' time.
#pragma once
#include "scenarios/report/charts.hpp"
#include "sim/record/phase.hpp"

namespace straggler {

/// Rows of shares, without the phases that no row has.
StackChart time_split(const std::vector<std::string>& names, const std::vector<ByPhase<double>>& rows);

}  // namespace straggler
