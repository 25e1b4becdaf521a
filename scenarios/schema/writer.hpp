// A Scenario as YAML, with every default written out.
#pragma once
#include <string>

#include "scenarios/schema/scenario.hpp"
#include "scenarios/schema/vocabulary.hpp"

namespace straggler {

/// The text of scenario.yaml. Reading it gives an equal Scenario, and writing that the same text; quantities keep their bits. Paths
/// are absolute, as reading made them, so the text means the same wherever it is put.
std::string write_scenario(const Scenario& scenario, const Vocabulary& vocabulary = Vocabulary::from_registries());

/// A device's jitter as a scenario has it: "none", or "{kind: lognormal, sigma: 0.2, every: batch}".
std::string write_jitter(const DeviceSpec& device, const Vocabulary& vocabulary = Vocabulary::from_registries());

/// The partition of the samples as a scenario writes it: "iid", or "{kind: dirichlet, alpha: 0.1}".
std::string write_partition(const WorkloadSpec& workload, const Vocabulary& vocabulary = Vocabulary::from_registries());

}  // namespace straggler
