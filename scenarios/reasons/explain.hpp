// Why a run takes as long as it does: the run, and the same work with one cause of delay removed at a time.
#pragma once
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reasons/interventions.hpp"
#include "scenarios/reasons/slowdowns.hpp"
#include "scenarios/results/busiest.hpp"

namespace straggler {

/// The result of one run. Times in simulated seconds.
struct Figures {
  double simulated_seconds = 0, samples_per_second = 0;
  std::optional<double> time_to_target, final_test_accuracy;
  std::uint64_t updates = 0;
  ByPhase<double> shares;  // of all workers' time
};

struct CauseRow {
  Cause cause = Cause::nothing;
  std::optional<Figures> figures;       // none: there is no answer
  std::optional<double> seconds_saved;  // of the compared time (Explained::by_target); none: no answer, or the target was missed
  std::optional<double> share;          // of the run's own seconds
  std::string note;                     // why there is nothing to save, or no answer; empty: an answer like any
  bool absent = false;                  // the cause is not there
};

struct ChangeRow {
  std::string change;
  double input_share = 0;                            // how much more of it there is: 0.1
  std::optional<Figures> figures;                    // none: it cannot be run
  std::optional<double> rate_change, target_change;  // as shares: 0.05 is 5 % more
  std::string place;                                 // Change::place
  /// Relative change of the rate by relative change of the input.
  std::optional<double> elasticity() const;
  std::string note;
};

/// The work that all rows share: that of the run until the target, or until one of its bounds, or the updates that it made.
struct SharedWork {
  std::optional<double> target;          // of the scenario
  std::int64_t sustain = 1;              // evaluations in a row that must reach it
  std::optional<double> epochs;          // the bounds, where the run reached one of them
  std::optional<std::uint64_t> updates;  // likewise; or that the run made until its time was over, or until it ended
  bool made = false;                     // the latter
  std::optional<Outcome> ended;          // of `made`: how; none: its time was over
  bool missed = false;                   // the target, by a run that stopped for other reasons
};

struct Explained {
  std::string name, scheme;
  bool timing_only = false;
  Holdup held;             // of the run itself
  bool diverged = false;   // the run itself did
  bool by_target = false;  // compared by the time to the target; else by the seconds of the run
  /// Causes change the order of updates, so what one seed learns differs by chance too, with the time to the target.
  bool order_matters = false;
  SharedWork work;
  std::vector<CauseRow> rows;  // in the order of `Cause`
  std::vector<ChangeRow> changes;
  std::optional<Slowdowns> slowdowns;  // none: not requested
  std::vector<std::string> warnings;
  /// Requires: the scenario is asked about it.
  const CauseRow& row(Cause cause) const { return *std::ranges::find(rows, cause, &CauseRow::cause); }
  /// The base of the rows' shares.
  double seconds() const;
  /// Causes are ranked by samples per second: times to the target of one seed differ by chance.
  bool by_rate() const { return by_target && order_matters; }
  /// The run misses its target, and would reach it without the cause of this row, which is no chance.
  bool reaches_what_was_missed(const CauseRow& row) const;
};

/// "1 update", "1,200 updates"
std::string updates_text(std::uint64_t updates);

struct ExplainOptions {
  RunOptions run;  // threads, kernels, timing_only, store (null: one in memory)
  /// Called before each run with its number from 1, the number of runs, and a description. May be empty. Not called by several threads at
  /// once.
  std::function<void(std::size_t number, std::size_t count, const std::string& what)> tell;
  std::function<bool()> interrupted;  // may be empty; true ends all
  bool slowdowns = false;             // also by worker and kind of work: one more run per worker
};

/// Throws ScenarioErrors, DataError, RunFailed of the run itself; ExplainInterrupted. The row of an intervention that cannot be run has the
/// reason.
Explained explain(const Scenario& scenario, const ExplainOptions& options);

/// The files explain.csv and elasticities.csv. Times in seconds; an empty cell: there is no such number.
std::string explain_csv(const Explained& explained);
std::string elasticities_csv(const Explained& explained);
/// The printed text: the two tables, then the sentences of explain_said.hpp.
std::string explain_text(const Explained& explained);
/// The same as one JSON object.
std::string explain_json(const Explained& explained, const std::string& out);

/// Causes that exist and have an answer, the most costly first. Unlimited bandwidth also ends contention: if shared links cost more than
/// half of what bandwidth does, contention comes before it. Staleness is ranked where a target is compared. If the run misses the target,
/// causes without which it reaches it come before all others. With Explained::by_rate, by samples per second; staleness has no such effect.
std::vector<const CauseRow*> ranked_causes(const Explained& explained);
/// What causes are ranked by: the share of the run's seconds that goes with the cause, or with Explained::by_rate, how much faster samples
/// are handled without it. Of rows that have an answer.
double cost_of(const Explained& explained, const CauseRow& row);
/// The first of them, if it costs at least this share of the time; null: computing is the bottleneck.
const CauseRow* bottleneck(const Explained& explained);
inline constexpr double bottleneck_share = 0.05;

}  // namespace straggler
