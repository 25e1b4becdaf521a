// Runs side by side: the values from which the table, JSON, sentences (verdict.hpp) and page of a comparison are made.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/results/reader.hpp"

namespace straggler {

/// The runs with one text each: (text, runs), in the order of the runs.
using RunGroups = std::vector<std::pair<std::string, std::vector<std::size_t>>>;
/// Runs whose text is empty are left out.
RunGroups grouped(const std::vector<RunResult>& runs, const std::function<std::string(const RunResult&)>& text);

struct Comparison {
  std::vector<RunResult> runs;
  std::vector<std::string>
      labels;  // [runs], distinct: the folders' names, or their paths where these repeat; without folders, the runs' names
  std::vector<double> thresholds;  // of all runs, targets included; ascending
  /// The first run of a baseline, else the first: of those that finished and, if any has them, have accuracies.
  std::size_t reference = 0;
  /// The deciding accuracy: the target that all runs had, if at least one reached it; otherwise the highest threshold that every run has
  /// and at least one reached; failing that, the highest that at least one reached. None: no run reached any, or they do not compare. Runs
  /// for timing alone do not count, nor does what runs reached that did not finish.
  std::optional<double> deciding;
  /// The finished run with the least time to `deciding`, of at least two runs that have it as a threshold; timing alone: with the most
  /// samples per second of at least two finished runs; none: no run wins.
  std::optional<std::size_t> winner;
  bool timing_only = false;  // no run has accuracies
  bool mixed = false;        // measured runs and simulated ones: no winner among all, see predictions()
  RunGroups different;       // by data, the runs that have accuracies, if these do not compare; else empty
};

/// Run without the math: it has no accuracies.
bool timing_alone(const RunResult& run);

/// SchemeEntry::baseline of its scheme; empty also for a scheme that is not known here.
std::string baseline(const RunResult& run);

/// The row of `run` for that threshold; null if the run does not have it.
const ThresholdResult* find_threshold(const RunResult& run, double threshold);

/// How many times as fast as the reference each run is.
struct SpeedUps {
  /// Where times are taken: the highest threshold that the reference reached. None: samples per second, since no run has accuracies.
  std::optional<double> threshold;
  std::vector<std::optional<double>> ratios;  // [runs]; none: not reached, not finished, or one is measured and the other simulated
};
/// Nothing where neither times to accuracies nor samples per second compare.
std::optional<SpeedUps> speed_ups_of(const Comparison& comparison);

/// At least one run. The order of the runs does not change the winner, except that the first of equals wins. `labels`: of the runs,
/// distinct; empty: as Comparison::labels.
Comparison compare(std::vector<RunResult> runs, std::vector<std::string> labels = {});

/// Plain ASCII, at most `width` columns where names allow; runs that do not fit side by side come below.
std::string comparison_table(const Comparison& comparison, std::size_t width = 140);

/// The same, one row per run below a header; the first cell is the run's label.
std::vector<std::vector<std::string>> comparison_cells(const Comparison& comparison);

/// The contents of the table and the lines below it, typed, with all scalars of each run. `left_out`: folders that are no runs, and why.
std::string comparison_json(const Comparison& comparison, const std::vector<std::string>& left_out);

}  // namespace straggler
