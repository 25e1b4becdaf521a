// The results of a race for its page. Kept in the race's state, so that `report` can make the page again.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/race/race_run.hpp"
#include "scenarios/report/run_sheets.hpp"

namespace straggler {

struct RacedFinish {
  std::string name;  // "0.85"; timing alone: "epoch"
  double accuracy = 0;
  bool is_target = false;
  std::vector<std::vector<std::vector<double>>> times;  // [entrants][runs], seconds; empty: missed
};

/// The result of a candidate on held-out samples.
struct TriedCandidate {
  std::vector<std::size_t> reached;  // [levels], runs
  std::vector<double> seconds;       // [levels], mean of these
  std::vector<double> loss;          // mean of the runs; empty: failed, or not finite
};

struct RaceAnswer {
  Description description;  // of the race that it is the answer to
  std::string name;         // of the scenario
  std::vector<std::string> entrants;
  std::vector<std::vector<std::uint64_t>> seeds;  // [entrants][runs]
  bool paired = true;
  std::vector<RacedFinish> finishes;
  std::vector<std::string> tuned;                    // paths; empty: not tuned
  std::vector<std::vector<std::string>> chosen;      // [entrants][tuned]
  std::vector<std::vector<std::string>> candidates;  // [candidates][tuned]
  std::vector<bool> ordered;                         // [tuned]; not: choices
  std::vector<std::string> levels;                   // names of the finishes that candidates are judged by
  std::vector<std::vector<TriedCandidate>> tuning;   // [entrants][candidates]
  std::size_t tuning_seeds = 0;
  std::vector<std::string> notes, warnings, failures;
  std::vector<std::string> reasons;    // sentences
  std::vector<ShownSetting> settings;  // [entrants], with the runs that did not fail

  /// [entrants]
  std::vector<RunValues> times(const RacedFinish& finish) const;
};

RaceAnswer answer_of(const Race& race, const RaceReader& reader, const RaceOutcome& outcome, Description description);

/// As the state keeps it; equal answers have equal texts.
std::string write_answer(const RaceAnswer& answer);
/// Throws ResultsError if it is none, or of another version.
RaceAnswer read_race_answer(const std::string& text);
/// That which a state keeps, in the file `place`. Throws ResultsError if it is none, or of another race than was begun last.
RaceAnswer kept_race_answer(SweepState& state, const std::string& place);

}  // namespace straggler
