// The outcome of a race: its runs, the verdicts, and the reasons.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/race/race.hpp"
#include "scenarios/race/tuning.hpp"
#include "scenarios/results/endings.hpp"
#include "scenarios/statistics/better.hpp"

namespace straggler {

struct RaceRun {
  std::uint64_t seed = 0;
  std::vector<SummaryField> fields;  // empty: it failed
  std::string sketch = {};           // as in FinishedPoint
};

struct RaceOutcome {
  std::vector<Tuned> tuned;                // [entrants]; empty: not tuned
  std::vector<std::vector<RaceRun>> runs;  // [entrants][seeds]
  std::vector<Verdict> verdicts;           // [finishes]
  std::vector<std::string> reasons;        // sentences: why the one ahead is faster than each that it beats (race_reasons.hpp)
  std::vector<std::string> warnings;       // about the entrants as they are given
  std::vector<std::string> failures;       // runs of the race that failed; they count as missed
  std::vector<std::string> failed_candidates;
  bool interrupted = false;  // all of the above are empty

  /// [entrants]
  std::vector<RunValues> times(const Finish& finish) const;
  /// Of the runs of an entrant that did not fail, or of all.
  Endings endings(std::size_t entrant) const;
  Endings endings() const;
};

}  // namespace straggler
