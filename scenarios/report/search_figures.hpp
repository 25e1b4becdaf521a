// The pictures of a search: the trials with their results; for a crossover both curves and their crossings.
#pragma once
#include <vector>

#include "scenarios/report/sweep_figures.hpp"
#include "scenarios/search/search_outcome.hpp"

namespace straggler {

/// All that was tried, in the order of the outcome, with its runs: of a find its settings, of a crossover the first and the second of each
/// value.
std::vector<ShownSetting> searched_settings(const SearchOutcome& outcome);
/// `sheets`: of these, to which marks lead.
std::vector<Figure> search_figures(const SearchOutcome& outcome, const RunSheets& sheets);

}  // namespace straggler
