// Runs side by side: which wins, by how much and why.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "scenarios/results/reader.hpp"

namespace straggler {

struct Comparison {
  std::vector<RunResult> runs;
  std::vector<std::string> labels;  // [runs], distinct: the names, or the folders where names repeat
  std::vector<double> thresholds;   // of all runs, targets included; ascending
  std::size_t reference = 0;        // the first synchronous run (scheme ssgd), else the first
  /// What decides: the target that all runs had, if at least one reached it; else the highest threshold that every run was asked
  /// for and at least one reached; failing that, the highest that at least one reached. None: nobody reached any.
  std::optional<double> deciding;
  std::optional<std::size_t> winner;  // least time to `deciding`; timing alone: most samples per second; none: no run wins
  bool timing_only = false;           // no run has accuracies
  std::string verdict;                // one sentence: who wins and why
  std::vector<std::string> notes;     // what makes the runs hard to compare
};

/// At least one run. Which result is read first does not change who wins, except that the first of equals does.
Comparison compare(std::vector<RunResult> runs);

/// The row of `run` for that threshold; null if it was not asked for.
const ThresholdResult* find_threshold(const RunResult& run, double threshold);

/// Plain ASCII, at most `width` columns where names allow; runs that do not fit side by side come below.
std::string comparison_table(const Comparison& comparison, std::size_t width = 140);

}  // namespace straggler
