// The page of `straggler advise`.
#pragma once
#include <string>

#include "scenarios/advise/advise.hpp"

namespace straggler {

std::string advise_page(const Advice& advice);

}  // namespace straggler
