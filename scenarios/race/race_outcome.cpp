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

Endings RaceOutcome::endings(std::size_t entrant) const {
  Endings all;
  for (const RaceRun& run : runs[entrant])
    if (!run.fields.empty()) all.add(run.fields);
  return all;
}

Endings RaceOutcome::endings() const {
  Endings all;
  for (const auto& own : runs)
    for (const RaceRun& run : own)
      if (!run.fields.empty()) all.add(run.fields);
  return all;
}

}  // namespace straggler
