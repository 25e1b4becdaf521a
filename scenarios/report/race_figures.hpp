// The pictures of a race: times at every threshold, and how far each pair is apart.
#pragma once
#include <string>
#include <vector>

#include "scenarios/race/race_outcome.hpp"
#include "scenarios/report/sweep_figures.hpp"

namespace straggler {

/// "12.3 s ± 0.4 s (3 of 5)", "missed (0 of 5)".
std::string race_value_text(const RaceOutcome& outcome, const RunValues& values);

/// `sheets`: of the entrants, to which marks lead.
std::vector<Figure> race_figures(const RaceOutcome& outcome, const RunSheets& sheets);

}  // namespace straggler
