// Which run wins, in one sentence derived from the figures.
#pragma once
#include <string>

#include "scenarios/results/compared_runs.hpp"

namespace straggler {

/// All but `verdict` and `notes` of the comparison are filled in. Time to an accuracy is the number of samples it takes divided by samples
/// per second: the sentence names the factor that made the difference, and the part of the workers' time per sample that shrank most.
std::string verdict(const Comparison& comparison);

/// The caveat of a comparison of speeds.
inline constexpr const char* timing_caveat = "timing only: whether it learns as much from a sample is not known";

}  // namespace straggler
