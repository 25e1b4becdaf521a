// report.html of a race: which entrant is first at each threshold, and how certain that is.
#pragma once
#include <string>
#include <string_view>

#include "scenarios/report/race_answer.hpp"

namespace straggler {

/// The whole page. `folder`: where the race's tables lie, as seen from the page; empty: beside it.
std::string race_page(const RaceAnswer& answer, std::string_view folder = {});

}  // namespace straggler
