// How pages of searches call metrics, and numbers of scenarios with their units.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "scenarios/report/charts.hpp"

namespace straggler {

/// "time_to_target_s" is "time to target", "time_to_0.8_s" "time to 0.8", "samples_per_second" "samples per second".
std::string metric_title(const std::string& metric);
/// Of a metric's values.
NumberText metric_number_text(const std::string& metric);

/// Labels as numbers on one axis, in the unit that its ticks are written in (rates that were written in bits: bits per second).
struct LabelNumbers {
  std::vector<std::optional<double>> numbers;  // [labels]; none: it is no number, or of another kind than the first
  NumberText text = nullptr;
};
LabelNumbers numbers_of_labels(const std::vector<std::string>& labels);

/// "bandwidth 1Gbps, workers 4".
std::string group_title(const std::vector<std::string>& axes, const std::vector<std::string>& labels);

}  // namespace straggler
