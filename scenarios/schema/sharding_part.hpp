// training.sharding: states that workers share.
#pragma once
#include "scenarios/schema/part.hpp"

namespace straggler {

/// A map, or `none`: every worker keeps all states.
Field<TrainingSpec> sharding_field();

}  // namespace straggler
