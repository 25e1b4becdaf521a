// report.html of `straggler explain`: the bottleneck first, what each cause costs, and who slows the others down, update by update.
#pragma once
#include <string>

#include "scenarios/reasons/explain.hpp"

namespace straggler {

std::string explain_page(const Explained& explained);

}  // namespace straggler
