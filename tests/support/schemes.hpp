// What tests of all schemes ask of an entry.
#pragma once
#include "sim/training/plan.hpp"
#include "sim/training/scheme.hpp"

namespace straggler::test {

/// The scheme can run with that many workers.
inline bool fits(const SchemeEntry& scheme, const Parameters& parameters, Rank workers) {
  TrainingPlan plan;
  plan.workers = workers;
  return scheme.unfit(parameters, plan).empty();
}

}  // namespace straggler::test
