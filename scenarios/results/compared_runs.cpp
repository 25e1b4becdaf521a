#include "scenarios/results/compared_runs.hpp"

#include <algorithm>

namespace straggler {

const ThresholdResult* find_threshold(const RunResult& run, double threshold) {
  for (const ThresholdResult& row : run.thresholds)
    if (row.threshold == threshold) return &row;
  return nullptr;
}

bool timing_alone(const RunResult& run) {
  const auto reached = [](const ThresholdResult& row) { return row.seconds.has_value(); };
  return !run.with_math && !run.final_test_accuracy && run.outcome != "diverged" &&
         std::none_of(run.thresholds.begin(), run.thresholds.end(), reached);
}

}  // namespace straggler
