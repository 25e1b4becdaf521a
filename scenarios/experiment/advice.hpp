// What `straggler check` warns of: settings that are allowed, and that may not do what was meant.
#pragma once
#include <string>
#include <vector>

#include "scenarios/experiment/blueprint.hpp"

namespace straggler {

/// One sentence each, without a full stop.
std::vector<std::string> advice(const Scenario& scenario, const Blueprint& blueprint);

}  // namespace straggler
