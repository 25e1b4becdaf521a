// Why an entrant of a race is faster than others, in the words of `compare`.
#pragma once
#include <string>
#include <vector>

#include "scenarios/race/race_outcome.hpp"

namespace straggler {

/// At one finish: the target if its test finds a significant difference, else the hardest finish where one does. One sentence for each
/// entrant that the leader beats significantly, and for each that is significantly level with it. Means over the runs that reached the
/// finish. Empty without a significant difference.
std::vector<std::string> race_reasons(const RaceOutcome& outcome);

}  // namespace straggler
