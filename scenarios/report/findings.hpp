// The findings of a sweep, in sentences.
#pragma once
#include <vector>

#include "scenarios/report/chart_plan.hpp"

namespace straggler {

/// The best setting, the winners by region, and the limits of the scaling speed-up. Empty if nothing is finished.
std::vector<Said> findings(const SweepView& view, const ChartPlan& plan);

}  // namespace straggler
