// Runs the points of a sweep that are not finished, on several threads.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/experiment/trajectory_store.hpp"
#include "scenarios/sweep/evaluation_file.hpp"
#include "scenarios/sweep/sweep.hpp"
#include "scenarios/sweep/sweep_state.hpp"

namespace straggler {

struct SweepOptions {
  unsigned jobs = 1;     // points at a time
  unsigned threads = 1;  // of each point's math
  bool timing_only = false;
  std::string kernels = "auto";
  std::vector<std::string> more;                             // sets of the command line
  std::optional<std::pair<std::size_t, std::size_t>> shard;  // I of N, from 1: the points whose number leaves I - 1 when divided by N
};

struct SweepProgress {
  std::size_t points = 0, finished = 0, running = 0;
  std::size_t found = 0;  // finished before this run began
  std::size_t failed = 0;
  std::uint64_t evaluations = 0, saved = 0;  // asked for, and of these known to the store
  double wall_seconds = 0;                   // of the points that this run finished, each counted by itself
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

/// Reads all scenarios first (throws ScenarioErrors), then runs what `state` has not finished. `store` null: none. `watch` is called now
/// and then from one thread at a time; true ends the sweep: points under way are given up.
SweepOutcome run_sweep(const Sweep& sweep, const SweepOptions& options, SweepState& state, EvaluationFile* store,
                       const std::function<bool(const SweepProgress&)>& watch);

/// What several states (shards of one sweep, their files) have finished, put into `into`. Throws ResultsError where they belong to
/// different sweeps.
SweepOutcome merge_sweeps(const std::vector<std::filesystem::path>& states, SweepState& into);

/// Name of a point's results: hash of its scenario, of whether math is run, of the kernels and of the program.
std::string point_id(const Scenario& scenario, bool timing_only, const std::string& kernels);
/// What makes the sweep: its base scenario, its axes, its repeats; line by line.
std::vector<std::string> describe(const Sweep& sweep, const std::vector<std::string>& more);

}  // namespace straggler
