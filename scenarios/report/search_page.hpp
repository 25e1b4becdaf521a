// report.html of a search: the question, the answer, the trials.
#pragma once
#include <string>
#include <string_view>

#include "scenarios/report/search_answer.hpp"

namespace straggler {

/// The whole page. `folder`: where find.csv or crossover.csv lies, as seen from the page; empty: beside it.
std::string search_page(const SearchAnswer& answer, std::string_view folder = {});

}  // namespace straggler
