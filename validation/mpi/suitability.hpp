// What a real run cannot do, reported before it starts.
#pragma once
#include "scenarios/experiment/blueprint.hpp"

namespace straggler {

/// Ranks that the scenario takes: its workers, and one for the server if the scheme has one.
int ranks_needed(const Scenario& scenario, const Blueprint& blueprint);
/// Throws ScenarioErrors at the first thing that only the simulation has. Links, topologies and protocols are not looked at: real ones
/// are what they are.
void refuse_what_is_simulated_only(const Scenario& scenario, const Blueprint& blueprint, bool emulated);

/// Where an all-reduce by `auto` goes around a ring on real ranks, the scenario says so from here on. Returns what the simulation takes, if
/// that is another; else nothing.
std::string name_the_ring(Scenario& scenario, const Blueprint& blueprint);

}  // namespace straggler
