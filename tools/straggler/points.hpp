// Shared by the commands that run many points: a folder with a state, the store, the number of runs at a time, progress.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/sweep/point_pool.hpp"
#include "scenarios/sweep/remaining_time.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

/// --jobs, --store, --no-store, --kernels.
void add_pool_options(boost::program_options::options_description_easy_init& add);
/// Throws UsageError.
PoolOptions read_pool_options(const Arguments& arguments);
/// A cache: if it cannot be used, the command warns and continues without it.
std::unique_ptr<EvaluationFile> open_store(const Arguments& arguments);

/// Requires a results folder that is new, is empty or holds a `noun`, i.e. its state file, unless --force. Throws ResultsError.
void open_results(const std::filesystem::path& folder, const char* state_file, const char* noun, bool force);

/// Waits for a locked state, with a message, until the user interrupts.
DatabaseWait wait_for_others(const Common& common);

/// Removes the state of a folder.
void remove_state(const std::filesystem::path& folder, const char* state_file);

/// The experiment that is about to run into a folder that may hold results.
struct PlannedResults {
  std::filesystem::path folder;
  const char* noun;  // the kind of results in the folder
  Description description;
  std::function<bool()> can_resume;  // whether any of its points has finished
};
/// Records the experiment's description and prints its differences from the previous one on standard error. Throws ResultsError, and
/// changes nothing, if none of the folder's results would remain.
void adopt_folder(SweepState& state, const PlannedResults& now, const Common& common);

/// "took 1.20 s; 40 of 80 evaluations came from the store", on standard error.
void print_timing(const SweepProgress& progress, double wall_seconds, const Common& common);

/// Progress, on standard error.
class PointsLine {
 public:
  /// `open_end`: the results of the first points may add points.
  PointsLine(const Common& common, bool open_end) : open_end_(open_end), line_(common.progress) {}

  void show(const SweepProgress& now);
  void clear() { line_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;

  const bool open_end_;
  ProgressLine line_;
  Clock::time_point start_ = Clock::now();
  RemainingTime remaining_;
};

}  // namespace straggler::cli
