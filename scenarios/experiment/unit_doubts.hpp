// Figures read from files whose unit may have been mistaken: milliseconds for factors, say.
#pragma once
#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"
#include "sim/cluster/fabric.hpp"

namespace straggler {

/// Adds "PLACE: DOUBT", unless the doubt is empty or was added for another place: one file may serve thousands of groups.
void add_doubt(std::vector<std::string>& notes, const std::string& place, const std::string& doubt);

/// A sentence without a full stop, or none. `mean`: of the factors of that jitter.
std::string factor_doubt(const Kind& jitter, double mean);
/// Of the slowdowns in the group's population.
std::string slowdown_doubt(const WorkerGroup& group);
/// Of the cables of a network file, where plain numbers are bytes a second and seconds.
std::string cable_doubt(const Fabric& fabric);

}  // namespace straggler
