// The warnings of `straggler check`: settings that are allowed, but may not have the intended effect.
#pragma once
#include <string>
#include <vector>

#include "scenarios/experiment/blueprint.hpp"

namespace straggler {

/// One sentence each, without a full stop.
std::vector<std::string> advice(const Scenario& scenario, const Blueprint& blueprint);

/// Appends those about training.sharding.
void advise_on_sharding(const Scenario& scenario, const Blueprint& blueprint, std::vector<std::string>& out);

}  // namespace straggler
