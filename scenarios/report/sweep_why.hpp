// Why settings of a sweep differ: what grows along an axis and what stays, where a curve peaks and where it bends.
#pragma once
#include <string>
#include <vector>

#include "scenarios/report/chart_plan.hpp"
#include "scenarios/report/charts.hpp"
#include "scenarios/report/sweep_view.hpp"

namespace straggler {

/// Along the plan's x, for each compared value of the first settings of the others: "With ssgd, from workers 1 to 32: a worker computes
/// 0.35 ms a sample at both ends; it communicates 2.1 ms a sample instead of 0.02 ms, 105 times as long." Empty: nothing changes, or there
/// is one x.
std::vector<std::string> along_words(const SweepView& view, const ChartPlan& plan);

inline constexpr double knee_share = 0.9;
/// Marks where a curve is best, if that is not its end, and the first point that has `knee_share` of the best gain; `text` writes values.
void mark_peak(Curve& curve, const NumberAxis& x, NumberText text, bool less_is_better);

}  // namespace straggler
