// Whether the seed changes the timing.
#pragma once
#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// Another seed may change the times of a run without math: jitter of devices or links, background traffic with random lengths, sampled
/// clients, or parts and data sets whose sizes are drawn. Errs on the side of true.
bool timing_depends_on_seed(const Scenario& scenario);

}  // namespace straggler
