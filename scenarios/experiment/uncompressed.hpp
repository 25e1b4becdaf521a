#pragma once
#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// The scenario without compression, and without the scheme's parameters that require it.
Scenario uncompressed(Scenario scenario);

}  // namespace straggler
