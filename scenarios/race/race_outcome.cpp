#include "scenarios/race/race_outcome.hpp"

namespace straggler {

std::vector<RunValues> RaceOutcome::times(const Finish& finish) const {
  std::vector<RunValues> all;
  for (const auto& own : runs) {
    all.emplace_back();
    for (const RaceRun& run : own) all.back().push_back(seconds_to(finish, run.fields));
  }
  return all;
}

}  // namespace straggler
