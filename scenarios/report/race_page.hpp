// report.html of a race: which entrant is first at each threshold, and how certain that is.
#pragma once
#include <string>
#include <string_view>

#include "scenarios/race/race_outcome.hpp"

namespace straggler {

/// The whole page. `description`: of the race. `folder`: where its tables lie, as seen from the page; empty: the page's.
std::string race_page(const RaceOutcome& outcome, const Description& description, std::string_view folder = {});

}  // namespace straggler
