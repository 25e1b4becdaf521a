// The pictures of a search: its trials, with their results; for a crossover both curves and their crossings.
#pragma once
#include <vector>

#include "scenarios/report/search_answer.hpp"
#include "scenarios/report/sweep_figures.hpp"

namespace straggler {

std::vector<Figure> search_figures(const SearchAnswer& answer);

}  // namespace straggler
