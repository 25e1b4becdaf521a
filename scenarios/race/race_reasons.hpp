// Why an entrant of a race is faster than others, in the words of `compare`.
#pragma once
#include <string>
#include <vector>

#include "scenarios/race/race_outcome.hpp"

namespace straggler {

/// At one finish: the target if a test tells entrants apart there, else the hardest finish where one does. A sentence for each entrant that
/// the one ahead is told to be faster than, and for each that it is told to be level with. Means over the runs that got there. Empty where
/// tests tell nothing.
std::vector<std::string> race_reasons(const Race& race, const RaceReader& reader, const RaceOutcome& outcome);

}  // namespace straggler
