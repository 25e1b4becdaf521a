// Names of workers by their differences: "worker 13 (3x slower)".
#pragma once
#include <cstdint>
#include <string>

#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// The differences of a group's workers from most workers of the cluster: "3x slower", "v100", "link 100Mbps"; empty: none. Rows of a
/// population are not considered.
std::string group_difference(const Scenario& scenario, std::size_t group);

/// "worker 13 (3x slower)", or "worker 2". The rank is one of the scenario's.
std::string worker_name(const Scenario& scenario, std::int64_t worker);

/// All workers of a group: "workers 6 and 7 (3x slower)", "workers 8 to 15", "worker 3".
std::string workers_of_group(const Scenario& scenario, std::size_t group);

}  // namespace straggler
