#pragma once
#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// The scenario for timing alone: without evaluations, a target and a schedule of learning rates, none of which the time depends on. Its
/// stop may be replaced then; a schedule would need it. Samples held out for validation stay held out.
Scenario without_learning(Scenario scenario);

}  // namespace straggler
