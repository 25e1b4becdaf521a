// report.html of `straggler explain`: the bottleneck first, the cost of each cause, and the workers that slow the others down, by update.
#pragma once
#include <string>

#include "scenarios/reasons/explain.hpp"

namespace straggler {

std::string explain_page(const Explained& explained);

}  // namespace straggler
