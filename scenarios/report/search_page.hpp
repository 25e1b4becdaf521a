// report.html of a search: the question, the answer, the trials.
#pragma once
#include <string>
#include <string_view>

#include "scenarios/search/search_outcome.hpp"

namespace straggler {

/// The whole page. `description`: of the search. `folder`: where find.csv or crossover.csv lies, as seen from the page; empty: the page's.
std::string search_page(const SearchOutcome& outcome, const Description& description, std::string_view folder = {});

}  // namespace straggler
