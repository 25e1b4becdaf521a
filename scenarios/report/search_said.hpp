// The text of a search as its page shows it.
#pragma once
#include <string>
#include <vector>

#include "scenarios/report/search_answer.hpp"

namespace straggler {

/// The text of the search, one entry for each of its groups, with readable names of paths and metrics.
std::vector<std::string> said_in_words(const SearchAnswer& answer);

}  // namespace straggler
