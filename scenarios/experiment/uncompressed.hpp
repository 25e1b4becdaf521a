#pragma once
#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// The scenario without compression, and without what its scheme takes only with it.
Scenario uncompressed(Scenario scenario);

}  // namespace straggler
