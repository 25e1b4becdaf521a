// What the commands that run many points share: a folder with a state, the store, how many at a time, how far things are.
#pragma once
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/sweep/point_pool.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

/// --jobs, --store, --no-store, --kernels.
void add_pool_options(boost::program_options::options_description_easy_init& add);
/// Throws UsageError.
PoolOptions read_pool_options(const Arguments& arguments);
/// A cache: where it cannot be used a warning says so, and all goes on without it.
std::unique_ptr<EvaluationFile> open_store(const Arguments& arguments);

/// A folder of results is new, empty, or holds a `noun`, that is its state file; or --force. Throws ResultsError.
void open_results(const std::filesystem::path& folder, const char* state_file, const char* noun, bool force);

/// Records what is about to be run, and says on standard error where that differs from before.
void say_what_changed(SweepState& state, const std::vector<std::string>& now, const Common& common);

/// "took 1.20 s; 40 of 80 evaluations came from the store", on standard error.
void say_how_it_went(const SweepProgress& progress, double wall_seconds, const Common& common);

/// How far things are, on standard error.
class PointsLine {
 public:
  explicit PointsLine(const Common& common)
      : shown_(!common.quiet && common.progress != ProgressStyle::none),
        bar_(common.progress == ProgressStyle::bar || (common.progress == ProgressStyle::automatic && isatty(STDERR_FILENO))) {}

  void show(const SweepProgress& now);
  void clear() const;

 private:
  using Clock = std::chrono::steady_clock;

  const bool shown_, bar_;
  bool drawn_ = false;
  double next_ = 2;
  Clock::time_point start_ = Clock::now();
};

}  // namespace straggler::cli
