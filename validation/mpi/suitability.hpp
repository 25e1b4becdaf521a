// Limits of real runs, reported before the run starts.
#pragma once
#include "scenarios/experiment/blueprint.hpp"

namespace straggler {

/// Ranks that the scenario takes: its workers, and one for the server if the scheme has one.
int ranks_needed(const Scenario& scenario, const Blueprint& blueprint);
/// Throws ScenarioErrors at the first feature that only the simulation has. Links, topologies and protocols are not checked: a real run
/// uses the real ones.
/// Refuses what a checkpoint of real ranks (rank_checkpoint.hpp) does not hold.
void refuse_to_save(const Scenario& scenario, const Blueprint& blueprint);

void refuse_what_is_simulated_only(const Scenario& scenario, const Blueprint& blueprint, bool emulated);

/// If an all-reduce by `auto` uses a ring on real ranks, names that ring in the scenario. Returns the simulation's choice if it differs,
/// otherwise nothing.
std::string name_the_ring(Scenario& scenario, const Blueprint& blueprint);

}  // namespace straggler
