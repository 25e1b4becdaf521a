// Memory of a run on this machine, in bytes.
#pragma once
#include <cstddef>
#include <string>

#include "scenarios/experiment/training_blueprint.hpp"

namespace straggler {

/// Estimated memory of a run on this machine: timing alone, and with the math.
std::size_t timing_bytes(const TrainingBlueprint& blueprint);
std::size_t math_bytes(const TrainingBlueprint& blueprint);
/// What is left for values of the math and their workspaces when a run may take `most` bytes in all: of these the program, its workers and
/// the data are subtracted. Throws MemoryBudgetExceeded if they leave nothing, or too little to read the data.
std::size_t bytes_for_values(const TrainingBlueprint& blueprint, std::size_t most);

/// "4.2 MB", rounded by `round`, so that a size beyond a limit never looks as if it fitted.
std::string in_tenths(double bytes, double (*round)(double));

}  // namespace straggler
