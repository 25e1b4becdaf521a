// Charts as data that the script of a page draws (scenarios/report/web): JSON that is safe between tags of a page.
#pragma once
#include <string>

#include "scenarios/report/charts.hpp"

namespace straggler {

/// Numbers have seven digits. A page draws `most_drawn` points at most: curves are thinned before (curve_points.hpp).
inline constexpr std::size_t most_drawn = 20'000;

std::string chart_data(const LineChart& chart);
std::string chart_data(const LearningChart& chart);
std::string chart_data(const MapChart& chart);
std::string chart_data(const StackChart& chart);
std::string chart_data(const IntervalChart& chart);
std::string chart_data(const BarChart& chart);
std::string chart_data(const HeatChart& chart);

}  // namespace straggler
