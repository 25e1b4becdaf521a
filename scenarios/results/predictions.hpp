// Measured runs beside the simulated ones that predict them.
#pragma once
#include <string>

#include "scenarios/results/compared_runs.hpp"

namespace straggler {

/// For every simulated run and every measured one of the same scheme, workers, data and model (as far as known): what the one says and the
/// other measured, as a clause each. They are compared by the time to what decides, if both got there; else by the time of the whole run,
/// if both made as many updates; else by samples per second. Of a comparison that is mixed, with all but `verdict` and `notes` filled in.
std::string predictions(const Comparison& comparison);

}  // namespace straggler
