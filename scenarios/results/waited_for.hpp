// The workers that the others waited for.
#pragma once
#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// A group's idle share, or -1 if most of what it has computed is wasted: then nobody waits for it.
double idle_if_used(double idle, double computed, double wasted);

/// [groups] mean idle share, as waited_for() takes it; -1: none of its workers lived.
std::vector<double> idle_of_groups(const RunRecord& record);

/// "workers 6 and 7 (3x slower)": those that differ from most workers and idle at most half as much as the others do, where these idle a
/// tenth of their time or more. `idle`: [groups] mean share of the workers' time; negative: not known. Empty: nobody, or nobody special.
std::string waited_for(const Scenario& scenario, const std::vector<double>& idle);

}  // namespace straggler
