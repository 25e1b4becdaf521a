// race.csv, tuning.csv and verdicts.csv of a race, and its printed text.
#pragma once
#include <string>

#include "scenarios/race/race_outcome.hpp"

namespace straggler {

/// A row for each entrant, finish and seed: `time_s` in seconds (by another measure: its column), or "missed"; and the run's `outcome`,
/// unless all finished.
std::string race_csv(const RaceOutcome& outcome);
/// A row for each candidate of each entrant: its settings; for each level the number of runs that reached it and their mean time; its loss
/// on held-out samples; and its rank among the entrant's candidates (1 races).
std::string tuning_csv(const RaceOutcome& outcome);
/// A row for each finish and pair: b's time over a's with its interval (empty where runs missed), the test, p alone and after Holm, and the
/// verdict in words.
std::string verdicts_csv(const RaceOutcome& outcome);
/// Settings and times of each entrant, all pairs, a verdict for each finish, warnings.
std::string race_table(const RaceOutcome& outcome);
/// All of these, typed: times in seconds, null where a run missed the finish. `folder`: where the results lie.
std::string race_json(const RaceOutcome& outcome, const std::string& folder);
/// What the p of a table of pairs is.
inline constexpr const char* holm_words = "chance of such a difference if there were none, corrected for the number of pairs";
/// "time to 0.8 (target)", "time an epoch".
std::string finish_title(const Finish& finish);
/// "b's time over a's"
std::string ratio_title(const MeasureRow& by);

}  // namespace straggler
