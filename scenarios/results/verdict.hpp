// Which run wins, in one sentence derived from the figures.
#pragma once
#include <string>

#include "scenarios/results/compared_runs.hpp"

namespace straggler {

/// All but `verdict` and `notes` of the comparison are filled in. Time to an accuracy is the samples it takes divided by
/// the samples handled per second: the sentence says which of the two made the difference, and where the workers' time per
/// sample shrank most.
std::string verdict(const Comparison& comparison);

/// The caveat of a comparison of speeds.
inline constexpr const char* timing_caveat = "timing only: whether it learns as much from a sample is not known";

}  // namespace straggler
