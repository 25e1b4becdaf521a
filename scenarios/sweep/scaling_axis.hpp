// `scaling: {kind: weak | strong, workers: [1, 2, 4]}` among the axes: numbers of workers, and what stays while they vary.
#pragma once
#include "scenarios/schema/section.hpp"
#include "scenarios/sweep/sweep.hpp"

namespace straggler {

inline constexpr const char* scaling_axis = "scaling";

/// The form of its value, in documents and JSON Schemas.
ScenarioKey scaling_form();

/// Adds the axis: the workers of the one group. Errors are added to the context's problems.
void read_scaling(ReadContext& context, const YamlNode& node, Sweep& sweep);

/// Once all of the sweep is read: weak scaling keeps a worker's batch, and strong scaling the batch of all, so the axis sets the other form
/// of training.batch where the scenario has it.
void complete_scaling(ReadContext& context, Sweep& sweep);

}  // namespace straggler
