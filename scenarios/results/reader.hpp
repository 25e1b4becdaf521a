// Reads result folders, simulated and measured ones.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/results/out_file.hpp"
#include "scenarios/results/summary.hpp"

namespace straggler {

struct Scenario;

/// One row of thresholds.csv. Without `seconds` the run never got there.
struct ThresholdResult {
  double threshold = 0;
  std::optional<double> seconds, last_below_seconds, updates, epochs, samples, bytes, price = {}, joules = {};
};

/// The data that comparisons read from a result folder. Counts are doubles: they only meet ratios.
struct RunResult {
  std::filesystem::path folder;
  std::string name, scheme;
  Outcome outcome = Outcome::completed;
  bool real = false;                    // of real ranks: its times are measured
  bool with_math = false;               // its curve has losses, even if they are no numbers
  std::string data, model;              // the workload's data and model in scenario.yaml, without the path; empty if it cannot be read
  std::string data_path;                // empty if none was given
  std::string unread;                   // why this version does not read scenario.yaml, with its place; empty: it does, or there is none
  std::optional<std::uint64_t> seed;    // of scenario.yaml; none if it cannot be read
  std::optional<double> learning_rate;  // likewise
  double workers = 0, simulated_seconds = 0 /* or measured */, updates = 0, samples = 0, bytes_sent = 0;
  std::optional<double> epochs, samples_per_second, final_test_accuracy, target_accuracy;
  ByPhase<std::optional<double>> shares;  // of the workers' time
  std::optional<double> staleness_mean, staleness_max;
  std::optional<double> compression_ratio;  // none: nothing was compressed
  std::string waited_for;                   // "workers 6 and 7 (3x slower)": the workers that the others await; empty: none, or unknown
  std::vector<SummaryField> summary;        // all of summary.json, in its order
  std::vector<ThresholdResult> thresholds;  // ascending; the target, if there is one, is among them
};

/// The figures that have a place of their own in RunResult, by their key in summary.json, besides shares and what concerns the target.
inline constexpr std::array<std::pair<const char*, double RunResult::*>, 5> result_counts = {
    {{"workers", &RunResult::workers},
     {"simulated_seconds", &RunResult::simulated_seconds},
     {"updates", &RunResult::updates},
     {"samples", &RunResult::samples},
     {"bytes_sent", &RunResult::bytes_sent}}};
inline constexpr std::array<std::pair<const char*, std::optional<double> RunResult::*>, 6> result_numbers = {
    {{"epochs", &RunResult::epochs},
     {"samples_per_second", &RunResult::samples_per_second},
     {"final_test_accuracy", &RunResult::final_test_accuracy},
     {"staleness_mean", &RunResult::staleness_mean},
     {"staleness_max", &RunResult::staleness_max},
     {"compression_ratio", &RunResult::compression_ratio}}};

/// The scalars of summary.json, in its order. Whole numbers are exact; all others are reals, for JSON knows no times. Throws ResultsError:
/// no file, not a JSON object, or a value that is no scalar.
std::vector<SummaryField> read_summary(const std::filesystem::path& file);

/// From the scalars of a summary alone; those that are not among `fields` are 0 or none. Without a name it has that of its scheme.
RunResult result_of(const std::vector<SummaryField>& fields);

/// `scenario`: that of the folder, if it has been read; null: it is read from there. Throws ResultsError: not a result folder, a file that
/// is missing, one of a later version, or one that is malformed (with the place).
RunResult read_run_result(const std::filesystem::path& folder, const Scenario* scenario = nullptr);

/// Throws ResultsError if its run.json has a later version of the format of result folders than this program reads, or is not readable. A
/// folder without run.json, or of a program before there were versions, has version 1.
void refuse_newer_results(const std::filesystem::path& folder);

/// A sentence, if its run.json says that a program of another version or compiler made the run; else empty. Throws ResultsError as
/// refuse_newer_results().
std::string other_program(const std::filesystem::path& folder);

/// A run of real ranks, whose times are measured. Throws ResultsError as refuse_newer_results().
bool is_real_run(const std::filesystem::path& folder);

/// The kind of result at the path, if another command than `run` made it: "holds a sweep (straggler report shows it)", "is a checkpoint".
/// Empty: a run, or nothing that is known.
std::string results_of_another_command(const std::filesystem::path& path);

/// An error may have many lines; a warning has one.
std::string first_line_of(const std::runtime_error& error);

/// Whether curve.csv of a result folder has a loss, even if it is nan: a run of the timing alone has none. False without such a file.
bool has_losses(const std::filesystem::path& folder);

}  // namespace straggler
