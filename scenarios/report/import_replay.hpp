// What an imported job's folder holds: the measured figures of import.json, and those of a run of its scenario, the timing alone.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/results/json.hpp"

namespace straggler {

/// Seconds of a step, in the mean.
struct StepParts {
  double computing = 0, loading = 0;
  std::optional<double> wait = {};  // in collectives, for ranks that come later; behind computing, too. Nothing: not known
  double waiting = 0;               // the part of it that computing does not hide, at most
  double rest = 0;                  // exchange; where waiting is not known, that as well
  /// `waiting` and `rest`, from the others.
  void fill(double step);
};

struct ReplayedBucket {
  double seconds = 0;
  std::uint64_t count = 0;  // collectives that the mean is of
};

struct ReplayedJob {
  std::uint64_t updates = 0;
  double step = 0;                      // seconds of an update
  std::vector<StepParts> workers;       // [workers]
  std::vector<ReplayedBucket> buckets;  // in the order in which they leave
};

class ImportedFolder {
 public:
  /// Reads import.json. Throws ResultsError.
  explicit ImportedFolder(const std::filesystem::path& folder);
  /// A job that runs, with a measured step: there is something to lay side by side.
  bool is_job() const;
  const std::filesystem::path& path() const { return folder_; }
  double step() const { return number("step_s").value_or(0); }
  /// Measured ranks, with the number of the worker that replays each.
  struct Rank {
    std::int64_t rank = 0;
    std::size_t worker = 0;
    double forward = 0, backward = 0, update = 0, between = 0;  // of parts.computing
    StepParts parts;
  };
  std::vector<Rank> ranks() const;
  struct Bucket {
    std::optional<double> bytes, elements, ready;  // ready: share of backward
    double seconds = 0;
  };
  /// Empty where neither sizes nor times are known.
  std::vector<Bucket> buckets() const;
  /// Empty where there are none.
  std::vector<double> steps() const;
  std::vector<std::string> sentences(const char* key) const;
  std::optional<double> number(const char* key) const;
  std::string text(const char* key) const;
  /// Seconds of a step in which the GPU of the first rank computes. Nothing: the files do not tell.
  std::optional<double> gpu_computing() const;
  /// Runs scenario.yaml, at most for some seconds of wall time. Nothing: `why_not` says why.
  std::optional<ReplayedJob> replayed(std::string& why_not) const;

 private:
  /// [buckets] Shares of computing after which they are ready.
  std::vector<double> ready_of(const Rank& rank) const;
  std::filesystem::path folder_;
  Json facts_;
};

}  // namespace straggler
