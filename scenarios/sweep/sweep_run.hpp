// Runs the points of a sweep that are not finished, on several threads.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/sweep/point_pool.hpp"
#include "scenarios/sweep/sweep.hpp"
#include "scenarios/sweep/sweep_state.hpp"

namespace straggler {

struct SweepOptions {
  bool timing_only = false;
  std::vector<std::string> more;                             // sets of the command line
  std::optional<std::pair<std::size_t, std::size_t>> shard;  // I of N, from 1: the points whose number leaves I - 1 when divided by N
};

/// One row of points.csv.
struct SweepRow {
  std::size_t group = 0;
  std::int64_t repeat = 0;
  std::uint64_t seed = 0;
  std::string id;
  std::vector<SummaryField> fields;
  std::string sketch = {};  // as in FinishedPoint
};

struct SweepOutcome {
  std::vector<SweepGroup> groups;     // by number; merged ones have labels only
  std::vector<SweepRow> rows;         // finished points, in the order of groups and repeats
  std::vector<std::string> failures;  // "PATH=VALUE, …, repeat 2: error"
  SweepProgress progress;
  bool interrupted = false;
  std::vector<PlacedPoint> missing;  // points that no shard has finished, without seed and id
};

/// Whether any of its points is finished already. Throws ScenarioErrors.
bool can_resume(const Sweep& sweep, const SweepOptions& options, const PointPool& pool);

/// Every point that would be run at least, in order. The request is good until `act` returns. Throws ScenarioErrors.
void each_point(const Sweep& sweep, const SweepOptions& options, const std::function<void(const PointRequest&)>& act);

/// Reads all scenarios first (throws ScenarioErrors), then runs the unfinished points.
SweepOutcome run_sweep(const Sweep& sweep, const SweepOptions& options, SweepState& state, PointPool& pool);

/// Puts the finished points of several states (the files of one sweep's shards) into `into`, beside its own of the same sweep. The outcome
/// lists the points that none has finished as missing. Throws ResultsError if they belong to different sweeps, or to a search, and then
/// changes nothing.
SweepOutcome merge_sweeps(const std::vector<std::filesystem::path>& states, SweepState& into, const DatabaseWait& wait = {});

/// "PATH=LABEL, …, repeat 2".
std::string point_name(const std::vector<std::string>& columns, const std::vector<std::string>& labels, std::int64_t repeat);

/// The identity of the sweep: its base scenario, its axes, its repeats. Has `seedless_timing` if the seed changes the timing of none of its
/// settings, which is found from each value of each axis together with the first values of the others.
Description describe(const Sweep& sweep, const std::vector<std::string>& more);

}  // namespace straggler
