// The findings of a sweep, in sentences.
#pragma once
#include <string>
#include <vector>

#include "scenarios/report/chart_plan.hpp"

namespace straggler {

/// The best setting, who wins where, how far the scaling speed-up goes. Empty if nothing is finished.
std::vector<std::string> findings(const SweepView& view, const ChartPlan& plan);

}  // namespace straggler
