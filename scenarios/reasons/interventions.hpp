// Causes of lost time, and how each is removed: typed edits of a scenario and of its run (WhatIf), in one place each, for every scheme,
// topology and kind of device.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/experiment/what_if.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler {

struct Blueprint;

enum class Cause {
  nothing,
  jitter,
  slow_workers,
  bandwidth,
  latency,
  contention,
  server,
  serial,
  staleness,
  faults,
  compression,
  collectives,
  loaders,
  launches,
  batch,
  overlap,
  distributed,
  start_up,
  failures,
  checkpoints,
  memory,
  all
};
/// As tables and files call it: "slow_workers".
const char* name_of(Cause cause);

/// A scenario, and changes of its run that the scenario cannot express.
struct Counterfactual {
  Scenario scenario;
  WhatIf what_if;
};

/// A setting without a cause.
struct Intervention {
  Cause cause = Cause::nothing;
  Counterfactual setting;
  /// Why the cause is absent, so that its removal changes nothing. Empty: it is there, or may be.
  std::string absent;
  /// Why there is no answer for this scenario. Empty: there is one.
  std::string refused;
};

/// Every cause in the order of `Cause`: the run itself first, without any of them last. `blueprint` is of `scenario`.
std::vector<Intervention> interventions(const Scenario& scenario, const Blueprint& blueprint, bool timing_only);

/// The scenario without these causes, whether they are there or not.
Counterfactual without(const std::vector<Cause>& causes, const Scenario& scenario, const Blueprint& blueprint);

/// Why links, algorithms and buckets do not count where times of all-reduces were measured.
std::string measured_words();

/// The same in a sentence: "slow workers", "the server".
std::string label_of(Cause cause);
/// Its removal in words: "without jitter", "with all workers as fast as the median one".
std::string words_of(Cause cause);

/// A worker's place: its group, and its number in the group.
struct Seat {
  std::size_t group = 0;
  std::int64_t number = 0;
};
/// The one whose batch takes the median time, before jitter. Of an even number of workers the faster of the two in the middle: a worker
/// that is there.
Seat median_worker(const Scenario& scenario, const Blueprint& blueprint);

/// Seconds of a batch on each worker, before jitter: [workers].
std::vector<double> batch_seconds(const Scenario& scenario, const Blueprint& blueprint);

/// A small change of the cluster, and how large it is.
struct Change {
  std::string name;  // "bandwidth +10 %"
  double share = 0;  // relative size of the change: 0.1
  Counterfactual setting;
  std::string place = {};  // of a worker more: "alone on a host of its own, 4 in all"; empty: on a host like all, or with others
};
/// +10 % bandwidth, -10 % compute time, one worker more, like the median one.
std::vector<Change> small_changes(const Scenario& scenario, const Blueprint& blueprint);

}  // namespace straggler
