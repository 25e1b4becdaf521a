// The pictures of a search: what was tried and what it came to; for a crossover both curves and where they cross.
#pragma once
#include <vector>

#include "scenarios/report/search_answer.hpp"
#include "scenarios/report/sweep_figures.hpp"

namespace straggler {

std::vector<Figure> search_figures(const SearchAnswer& answer);

}  // namespace straggler
