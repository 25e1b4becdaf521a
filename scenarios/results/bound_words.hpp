// What a run was bound by, from its own figures: the words of `straggler check`, without running it again.
#pragma once
#include <string>

#include "scenarios/results/reader.hpp"

namespace straggler {

/// The part of the workers' time that is largest, with its reason: "computing, 86.2 % of the time", "slow workers: the others are idle 52.9
/// % of the time for workers 6 and 7 (3x slower)", "bandwidth: workers communicate 81.1 % of the time, server/0:up carries 98.9 % of its
/// capacity". Where computing is largest, the second part follows if it is a tenth or more. `link`: the busiest one, may be empty; `use`:
/// its share of its capacity. Empty: the shares are not known.
std::string bound_words(const RunResult& run, const std::string& link, double use);

}  // namespace straggler
