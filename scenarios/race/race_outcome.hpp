// The outcome of a race: who took part, the runs, and the verdicts. Tables, sentences and pages are made from it, now or when its folder's
// state is read again.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/race/race.hpp"
#include "scenarios/race/tuning.hpp"
#include "scenarios/results/endings.hpp"
#include "scenarios/results/run_sketch.hpp"
#include "scenarios/statistics/better.hpp"
#include "scenarios/sweep/sweep_state.hpp"

namespace straggler {

struct RaceOutcome {
  std::string name;  // the scenario's
  std::vector<Entrant> entrants;
  bool paired = true, timing_only = false;
  bool exact = false;                    // RaceReader::exact()
  std::vector<Finish> finishes, levels;  // as RaceReader has them
  std::optional<Tuning> tuning;
  std::uint64_t first_tuning_seed = 0;
  std::vector<Tuned> tuned;                 // [entrants]; empty: not tuned
  std::vector<std::vector<StudyRun>> runs;  // [entrants][seeds]
  std::vector<Verdict> verdicts;            // [finishes]
  std::vector<std::string> notes;           // about parts that the race leaves out
  std::optional<std::string> two_optima;    // the warning of two_optima_warning(), if there is one
  std::vector<std::string> failures;        // runs of the race that failed; they count as missed
  std::vector<std::string> failed_candidates;
  bool interrupted = false;  // then it has no runs

  /// What is said of the race itself, without its runs.
  static RaceOutcome of(const Race& race, const RaceReader& reader);
  /// From the runs.
  void judge_finishes();

  std::size_t seeds() const { return runs.front().size(); }
  /// What decides who is first.
  const MeasureRow& by() const { return measure_of(finishes.front()); }
  /// How a sentence says who is ahead of whom.
  BetterWords words() const { return {by().is, by().are}; }
  std::vector<std::string> labels() const;  // [entrants]
  /// [entrants]: times, or the values of the measure
  std::vector<RunValues> times(const Finish& finish) const;
  /// The values chosen by its tuning ([tuning.paths]); empty: not tuned.
  std::vector<std::string> chosen(std::size_t entrant) const;
  /// How the runs ended that did not fail.
  Endings endings() const;
  /// About the entrants as they are given, their tuning, and their runs.
  std::vector<std::string> warnings() const;
};

/// In the state of its folder.
void keep(SweepState& state, const RaceOutcome& outcome);
/// From the state in the file `place`. Throws ResultsError if it has none, or another version's, or that of a race before the last.
RaceOutcome kept_race(SweepState& state, const std::string& place);

}  // namespace straggler
