#include "scenarios/results/comparison.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

namespace {

bool all_distinct(const std::vector<std::string>& words) {
  return std::set<std::string>(words.begin(), words.end()).size() == words.size();
}

std::vector<std::string> labels_of(const std::vector<RunResult>& runs) {
  std::vector<std::string> names, folders, paths;
  for (const RunResult& run : runs) {
    names.push_back(run.name);
    const auto folder = run.folder.has_filename() ? run.folder : run.folder.parent_path();
    folders.push_back(folder.filename().string());
    paths.push_back(run.folder.string());
  }
  const bool have_folders = std::ranges::none_of(folders, [](const std::string& folder) { return folder.empty(); });
  if (have_folders) return all_distinct(folders) ? folders : paths;
  return names;
}

std::size_t reference_of(const Comparison& comparison) {
  const auto eligible = [&](const RunResult& run) { return comparison.timing_only || !timing_alone(run); };
  for (const bool unfinished : {false, true}) {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
      if (!eligible(comparison.runs[i]) || !(unfinished || is_finished(comparison.runs[i].outcome))) continue;
      if (!baseline(comparison.runs[i]).empty()) return i;
      if (!first) first = i;
    }
    if (first) return *first;
  }
  return 0;
}

/// The target, if every run with accuracies had the same and at least one reached it.
std::optional<double> common_target(const Comparison& comparison) {
  std::optional<double> target;
  bool reached = false;
  for (const RunResult& run : comparison.runs) {
    if (timing_alone(run)) continue;
    if (!run.target_accuracy || (target && run.target_accuracy != target)) return std::nullopt;
    target = run.target_accuracy;
    const ThresholdResult* row = find_threshold(run, *target);
    reached = reached || (row && row->seconds && is_finished(run.outcome));
  }
  return reached ? target : std::nullopt;
}

std::optional<double> deciding_threshold(const Comparison& comparison) {
  if (!comparison.different.empty()) return std::nullopt;
  if (const std::optional<double> target = common_target(comparison)) return target;
  std::optional<double> any, common;
  for (const double threshold : comparison.thresholds) {
    bool by_all = true, by_one = false;
    for (const RunResult& run : comparison.runs) {
      const ThresholdResult* row = find_threshold(run, threshold);
      by_all = by_all && (row || timing_alone(run));
      by_one = by_one || (row && row->seconds && is_finished(run.outcome));
    }
    if (by_one) (by_all ? common : any) = threshold;
  }
  return common ? common : any;
}

std::optional<std::size_t> winner_of(const Comparison& comparison) {
  std::optional<std::size_t> best;
  std::optional<double> best_score;  // larger is better
  std::size_t asked = 0;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const RunResult& run = comparison.runs[i];
    const bool finished = is_finished(run.outcome);
    std::optional<double> score;
    if (comparison.deciding) {
      const ThresholdResult* row = find_threshold(run, *comparison.deciding);
      if (row && row->seconds) score = -*row->seconds;
      if (row && !timing_alone(run)) ++asked;
    } else if (comparison.timing_only) {
      score = run.samples_per_second;
      asked += finished ? 1 : 0;
    }
    if (finished && score && (!best_score || *score > *best_score)) {
      best = i;
      best_score = score;
    }
  }
  const bool unopposed = asked < 2 && comparison.runs.size() > 1;
  return unopposed ? std::nullopt : best;
}

}  // namespace

Comparison compare(std::vector<RunResult> runs, std::vector<std::string> labels) {
  if (runs.empty()) throw ResultsError("there is nothing to compare; name the result folders of one or more runs");
  if (labels.empty()) labels = labels_of(runs);
  Comparison comparison;
  comparison.runs = std::move(runs);
  comparison.labels = std::move(labels);
  comparison.timing_only = std::all_of(comparison.runs.begin(), comparison.runs.end(), timing_alone);
  comparison.reference = reference_of(comparison);
  for (const RunResult& run : comparison.runs)
    for (const ThresholdResult& row : run.thresholds) comparison.thresholds.push_back(row.threshold);
  auto& thresholds = comparison.thresholds;
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  RunGroups data = grouped(comparison.runs, [](const RunResult& run) { return timing_alone(run) ? std::string() : run.data; });
  if (data.size() > 1) comparison.different = std::move(data);
  comparison.deciding = deciding_threshold(comparison);
  const auto real = [](const RunResult& run) { return run.real; };
  comparison.mixed = std::any_of(comparison.runs.begin(), comparison.runs.end(), real) &&
                     !std::all_of(comparison.runs.begin(), comparison.runs.end(), real);
  if (!comparison.mixed) comparison.winner = winner_of(comparison);
  return comparison;
}

RunGroups grouped(const std::vector<RunResult>& runs, const std::function<std::string(const RunResult&)>& text) {
  RunGroups groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string own = text(runs[i]);
    if (own.empty()) continue;
    auto at = std::ranges::find(groups, own, &RunGroups::value_type::first);
    if (at == groups.end()) at = groups.insert(at, {own, {}});
    at->second.push_back(i);
  }
  return groups;
}

const ThresholdResult* find_threshold(const RunResult& run, double threshold) {
  for (const ThresholdResult& row : run.thresholds)
    if (row.threshold == threshold) return &row;
  return nullptr;
}

bool timing_alone(const RunResult& run) {
  const auto reached = [](const ThresholdResult& row) { return row.seconds.has_value(); };
  return !run.with_math && !run.final_test_accuracy && run.outcome != Outcome::diverged &&
         std::none_of(run.thresholds.begin(), run.thresholds.end(), reached);
}

std::string baseline(const RunResult& run) {
  const SchemeEntry* const entry = Registry<SchemeEntry>::instance().find(run.scheme);
  return entry ? entry->baseline : std::string();
}

std::optional<SpeedUps> speed_ups_of(const Comparison& comparison) {
  const RunResult& reference = comparison.runs[comparison.reference];
  SpeedUps speed_ups;
  double reference_seconds = 0;
  if (!is_finished(reference.outcome)) return std::nullopt;
  if (comparison.different.empty())
    for (const ThresholdResult& row : reference.thresholds)
      if (row.seconds) {
        speed_ups.threshold = row.threshold;
        reference_seconds = *row.seconds;
      }
  if (!speed_ups.threshold && !comparison.timing_only) return std::nullopt;
  for (const RunResult& run : comparison.runs) {
    std::optional<double>& ratio = speed_ups.ratios.emplace_back();
    if (!is_finished(run.outcome)) continue;
    if (speed_ups.threshold) {
      const ThresholdResult* const row = find_threshold(run, *speed_ups.threshold);
      // A prediction that errs is no speed-up.
      if (run.real == reference.real && row && row->seconds && *row->seconds > 0) ratio = reference_seconds / *row->seconds;
    } else if (run.samples_per_second && reference.samples_per_second.value_or(0) > 0) {
      ratio = *run.samples_per_second / *reference.samples_per_second;
    }
  }
  return speed_ups;
}

}  // namespace straggler
