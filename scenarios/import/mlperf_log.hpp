// Runs in logs of MLPerf Training: lines with ":::MLLOG" and JSON behind it (github.com/mlcommons/logging).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/formats/given_file.hpp"

namespace straggler {

struct MlperfRun {
  std::string file, benchmark, platform, optimizer;
  std::string status;                                           // "success", "aborted", …; "unfinished": the log ends before the run does
  std::optional<double> nodes, accelerators;                    // of all nodes
  std::optional<double> batch;                                  // of all accelerators, an update
  std::optional<double> learning_rate, warmup_epochs, samples;  // samples: of an epoch
  double seconds = 0;                                           // from run_start to run_stop
  std::optional<double> rate;                                   // samples a second, median of what the log says
  std::optional<double> accuracy, epochs;                       // of the last evaluation; epochs: or samples, as the benchmark counts
  bool reached() const { return status == "success"; }
  /// Seconds of an update, if they are those of any job.
  std::optional<double> step() const {
    const double seconds = batch && rate ? *batch / *rate : 0;
    return seconds >= 1e-6 && seconds <= 1e4 ? std::optional(seconds) : std::nullopt;
  }
};

/// Throws DataError.
std::vector<MlperfRun> read_mlperf_log(const GivenFile& file);

}  // namespace straggler
