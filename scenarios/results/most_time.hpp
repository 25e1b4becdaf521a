// What a run's workers spend most of their time on, from its own figures, by phase. What binds a run is another question: `check`,
// `explain` and `advise` run it again without one cause after another.
#pragma once
#include <string>

#include "scenarios/results/reader.hpp"

namespace straggler {

/// The largest part of the workers' time, with what its figures say of it: "computing, 86.2 % of the time", "idle, 52.9 % of the time,
/// waiting for workers 6 and 7 (3x slower)", "communicating, 81.1 % of the time; server/0:up carries 98.9 % of its capacity". Where
/// computing is largest, the second part follows if it is a tenth or more. `link`: the busiest one, may be empty; `use`: its share of its
/// capacity. Empty: the shares are not known.
std::string most_time(const RunResult& run, const std::string& link, double use);

}  // namespace straggler
