// How pages put the parts of sentences, and means.
#pragma once
#include <string>
#include <vector>

#include "scenarios/statistics/said.hpp"

namespace straggler {

/// "12.3 s \u00b1 0.4 s (3 of 5)", "missed (0 of 5)".
inline constexpr MeanStyle page_mean{.sign = " \u00b1 ", .missed = true};

/// "time_to_target_s" is "time to target", "time_to_0.8_s" "time to 0.8", "samples_per_second" "samples per second".
std::string metric_title(const std::string& metric);

/// "bandwidth 1Gbps" for a setting, "time to target" for a metric.
std::string page_words(const Said& said);
std::vector<std::string> page_words(const std::vector<Said>& all);
/// With a full stop, and a capital in front, but for a name.
std::string page_sentence(const Said& said);

/// "In the scenario, bandwidth is cluster.network.link.bandwidth; \u2026."
std::string scenario_paths(const std::vector<std::string>& paths);

}  // namespace straggler
