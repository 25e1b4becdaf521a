// The output of `straggler check --json`.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/packet_events.hpp"
#include "scenarios/experiment/update_times.hpp"
#include "scenarios/reasons/update_parts.hpp"

namespace straggler::cli {

/// The lines and tables of `check`, typed: times in seconds, sizes in bytes, rates in bytes per second.
std::string check_json(const Scenario& scenario, const Explanation& explanation, const std::vector<CollectiveTime>& collectives,
                       const std::optional<UpdateTimes>& times, const UpdateParts& parts, const std::optional<PacketEvents>& events,
                       const std::vector<std::string>& warnings);

}  // namespace straggler::cli
