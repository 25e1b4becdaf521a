// Runs the points of a sweep that are not finished, on several threads.
#pragma once
#include <cstdint>
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
};

struct SweepOutcome {
  std::vector<SweepGroup> groups;     // by number; merged ones have labels only
  std::vector<SweepRow> rows;         // finished points, in the order of groups and repeats
  std::vector<std::string> failures;  // "PATH=VALUE, …, repeat 2: what went wrong"
  SweepProgress progress;
  bool interrupted = false;
};

/// Reads all scenarios first (throws ScenarioErrors), then runs what is not finished.
SweepOutcome run_sweep(const Sweep& sweep, const SweepOptions& options, SweepState& state, PointPool& pool);

/// What several states (shards of one sweep, their files) have finished, put into `into`. Throws ResultsError where they belong to
/// different sweeps.
SweepOutcome merge_sweeps(const std::vector<std::filesystem::path>& states, SweepState& into);

/// What makes the sweep: its base scenario, its axes, its repeats; line by line.
std::vector<std::string> describe(const Sweep& sweep, const std::vector<std::string>& more);

}  // namespace straggler
