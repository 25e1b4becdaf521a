// The output of `straggler check`.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/packet_events.hpp"
#include "scenarios/experiment/update_times.hpp"
#include "scenarios/reasons/update_parts.hpp"

namespace straggler {

/// Lines and tables, plain ASCII. `layers`: with a row for each layer of the model.
std::string check_text(const Scenario& scenario, const Explanation& explanation, const std::vector<CollectiveTime>& collectives,
                       const std::optional<UpdateTimes>& times, const UpdateParts& parts, const std::optional<PacketEvents>& events,
                       const std::vector<std::string>& warnings, bool layers = false);

/// Sentences: those of the explanation, and of this machine's memory where the math is to run.
std::vector<std::string> check_warnings(const Explanation& explanation, bool timing_only);

}  // namespace straggler
