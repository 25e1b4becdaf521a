// The pictures of a claim: predicted against measured, and the error of each row.
#pragma once
#include <vector>

#include "scenarios/report/figure.hpp"
#include "validation/compare/validate.hpp"

namespace straggler {

/// ", ms"; for ratios, ", ratio"; otherwise "".
std::string unit_of(const Claim& claim);
std::vector<Figure> claim_figures(const ClaimResult& result);

}  // namespace straggler
