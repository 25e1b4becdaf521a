// Measured runs beside the simulated ones that predict them.
#pragma once
#include "scenarios/results/compared_runs.hpp"
#include "scenarios/statistics/said.hpp"

namespace straggler {

/// For every simulated run and every measured one of the same scheme, workers, data and model (as far as known): the predicted and the
/// measured value, as a clause each. They are compared by the time to the deciding accuracy if both reached it; otherwise by the time of
/// the whole run if both made equally many updates; otherwise by samples per second. Of a comparison that is mixed.
Said predictions(const Comparison& comparison);

}  // namespace straggler
