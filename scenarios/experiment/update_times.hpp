// How long an update takes, timed by short runs without the math.
#pragma once
#include <optional>

#include "scenarios/experiment/what_if.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// Two runs of the timing alone, one a prefix of the other. The updates between their ends are of the steady state: the difference leaves
/// out the warm-up.
struct TimedUpdates {
  RunRecord begun, gone_on;
  /// False: a time limit of the scenario ended both alike, and the longer one counts as a whole.
  bool in_step() const { return gone_on.updates > begun.updates && gone_on.end > begun.end; }
  double updates() const { return static_cast<double>(gone_on.updates - (in_step() ? begun.updates : 0)); }
  /// Of one update; 0: there is none.
  double seconds() const { return updates() == 0 ? 0 : (gone_on.end - (in_step() ? begun.end : Time())).seconds() / updates(); }
};

/// Whatever the scenario's stop is. None: there are more than 4,096 workers, or the runs take more wall-clock time than that.
std::optional<TimedUpdates> timed_updates(const Scenario& scenario, const WhatIf& what_if, double most_wall_seconds);

/// Seconds per update.
struct UpdateTimes {
  double compressed = 0, whole = 0;
};

/// None where nothing is compressed, where there are more than 4,096 workers or the runs take more than five seconds, and where no update
/// comes.
std::optional<UpdateTimes> update_times(const Scenario& scenario);

}  // namespace straggler
