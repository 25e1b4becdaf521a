// How long an update takes, timed by short runs without the math.
#pragma once
#include <optional>
#include <stdexcept>

#include "scenarios/experiment/what_if.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// Updates first() + 1 to last() of the timing alone: those of a cluster in step, since the first ones are left out. All are updates of the
/// run: one whose stop comes earlier leaves out as large a part of what it makes. One that ends otherwise before (its outcome is not
/// `completed`) is taken from its start to its last update.
struct TimedUpdates {
  std::optional<RunRecord> begun;        // the run up to update first(); none: there is no earlier one
  RunRecord gone_on;                     // the same run up to update last()
  Outcome outcome = Outcome::completed;  // of the run itself
  std::uint64_t first() const { return begun ? begun->updates : 0; }
  std::uint64_t last() const { return gone_on.updates; }  // above first()
  /// Of one update, on average over those after `from` up to `to`. Both are between first() and last().
  double seconds(std::uint64_t from, std::uint64_t to) const;
  double seconds() const { return seconds(first(), last()); }
  double updates() const { return static_cast<double>(last() - first()); }
};

/// what() says why the updates have no time here.
struct NotTimed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws NotTimed where there are more than 4,096 workers, where the runs take more wall-clock time than that, where no update comes, and
/// where the run fails; ScenarioErrors where it is refused.
TimedUpdates timed_updates(const Scenario& scenario, const WhatIf& what_if, double most_wall_seconds);
/// None instead of an exception.
std::optional<TimedUpdates> timed_if_possible(const Scenario& scenario, const WhatIf& what_if, double most_wall_seconds);
/// The timing of the run itself, up to its own stop or that many updates. None instead of an exception.
std::optional<RunRecord> first_updates(const Scenario& scenario, std::uint64_t updates, double most_wall_seconds);

/// The timing alone of that many updates, whatever the scenario's stop is; the sink gets all spans. False instead of an exception.
bool observe_updates(const Scenario& scenario, std::uint64_t updates, RecordSink& sink, double most_wall_seconds);

/// Seconds per update of a cluster in step, whatever the scenario's stop is.
struct UpdateTimes {
  double compressed = 0, whole = 0;
};

/// None where nothing is compressed, and where one of both is not timed within five seconds.
std::optional<UpdateTimes> update_times(const Scenario& scenario);

}  // namespace straggler
