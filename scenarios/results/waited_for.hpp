// The workers that the others waited for.
#pragma once
#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// A group's idle share, or -1 if most of its computation is wasted: then no worker waits for it.
double idle_if_used(double idle, double computed, double wasted);

/// [groups] mean idle share, as waited_for() takes it; -1: none of its workers lived.
std::vector<double> idle_of_groups(const RunRecord& record);

/// "workers 6 and 7 (3x slower)": workers that differ from most others and idle at most half as much as they do, if those idle a tenth of
/// their time or more. `idle`: [groups] mean share of the workers' time; negative: not known. Empty: none, or none that stands out.
std::string waited_for(const Scenario& scenario, const std::vector<double>& idle);

}  // namespace straggler
