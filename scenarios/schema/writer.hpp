// A Scenario as YAML again: what was understood, with every default written out.
#pragma once
#include <string>

#include "scenarios/schema/scenario.hpp"
#include "scenarios/schema/vocabulary.hpp"

namespace straggler {

/// The text of scenario.yaml. Reading it gives an equal Scenario, and writing that the same text; quantities keep their bits. Paths
/// stand as they were given: those that are relative start from the folder of the scenario that was read, not from where this text
/// is put. No path of the machine gets in that was not in the scenario.
std::string write_scenario(const Scenario& scenario, const Vocabulary& vocabulary = Vocabulary::from_registries());

}  // namespace straggler
