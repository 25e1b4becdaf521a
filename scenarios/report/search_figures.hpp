// The pictures of a search: the trials with their results; for a crossover both curves and their crossings.
#pragma once
#include <vector>

#include "scenarios/report/search_answer.hpp"
#include "scenarios/report/sweep_figures.hpp"

namespace straggler {

/// All that was tried, in the order of the answer, with its runs: of a find its settings, of a crossover the first and the second of each
/// value.
std::vector<ShownSetting> searched_settings(const SearchAnswer& answer);
/// `sheets`: of these, to which marks lead.
std::vector<Figure> search_figures(const SearchAnswer& answer, const RunSheets& sheets);

}  // namespace straggler
