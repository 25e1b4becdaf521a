// The pictures of a sweep.
#pragma once
#include <string>
#include <vector>

#include "scenarios/report/chart_plan.hpp"
#include "scenarios/report/figure.hpp"
#include "scenarios/report/run_sheets.hpp"

namespace straggler {

/// At most `most_pictures` for each kind. `sheets`: of the view's settings, to which marks lead; else to their rows in the table.
std::vector<Figure> sweep_figures(const SweepView& view, const ChartPlan& plan, const RunSheets& sheets);
inline constexpr std::size_t most_pictures = 12;
/// To the row of a setting in the page's table, whose id it is with a "#".
std::string setting_link(std::size_t setting);
/// "map.svg", "map-2.svg" …, from 1.
std::string map_file(std::size_t number);

}  // namespace straggler
