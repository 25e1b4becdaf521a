// What the workers of a sweep's setting spend most of their time on.
#pragma once
#include <string>

#include "scenarios/sweep/derived_scalars.hpp"

namespace straggler {

/// most_time() of the means over its runs, with the busiest link of all of them. Empty: not known.
std::string most_time(const SweptSetting& setting);
/// Its phase: "computing", "idle".
std::string longest_phase(const SweptSetting& setting);

}  // namespace straggler
