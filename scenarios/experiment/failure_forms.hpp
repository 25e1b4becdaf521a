// What closed forms (sim/reliability) say of a job that failures roll back.
#pragma once
#include <cstdint>
#include <optional>

#include "sim/reliability/checkpoint_forms.hpp"

namespace straggler {

struct Blueprint;
struct Scenario;

/// Times in seconds.
struct FailureForms {
  reliability::JobFailures job;     // failures that stop it, and what each costs besides lost work
  double save = 0;                  // for which a checkpoint stops work
  double every = 0;                 // work between two checkpoints; 0: see `every_updates`
  std::uint64_t every_updates = 0;  // 0 and no time: only the initial weights are saved
  bool regular = false;             // some failures come at constant times: the mean times of random ones say nothing
  /// Of the least mean time, and two approximations; 0: saving takes no time, so that none is best, or
  /// failures are regular.
  double optimal = 0, young = 0, daly = 0;

  /// Work between two checkpoints, where an update takes so long; none: nothing is saved.
  std::optional<double> interval(double update_seconds) const {
    if (every > 0) return every;
    if (every_updates > 0 && update_seconds > 0) return static_cast<double>(every_updates) * update_seconds;
    return std::nullopt;
  }
};

/// None: no failures roll the job back at a rate that is known.
std::optional<FailureForms> failure_forms(const Scenario& scenario, const Blueprint& blueprint);

}  // namespace straggler
