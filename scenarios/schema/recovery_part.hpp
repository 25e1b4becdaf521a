// training.recovery: checkpoints, and what happens when something fails.
#pragma once
#include "scenarios/schema/part.hpp"

namespace straggler {

Field<TrainingSpec> recovery_field();

}  // namespace straggler
