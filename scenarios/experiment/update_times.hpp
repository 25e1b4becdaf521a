// How long an update takes with and without compression, timed by short runs without the math.
#pragma once
#include <optional>

#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// Seconds an update, on average over some updates after the first ones.
struct UpdateTimes {
  double compressed = 0, whole = 0;
};

/// None where nothing is compressed, where there are more than 4,096 workers, and where no update comes.
std::optional<UpdateTimes> update_times(const Scenario& scenario);

}  // namespace straggler
