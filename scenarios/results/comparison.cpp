#include "scenarios/results/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scenarios/results/text.hpp"
#include "scenarios/results/verdict.hpp"

namespace straggler {

const ThresholdResult* find_threshold(const RunResult& run, double threshold) {
  for (const ThresholdResult& row : run.thresholds)
    if (row.threshold == threshold) return &row;
  return nullptr;
}

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
  return all_distinct(names) ? names : all_distinct(folders) ? folders : paths;
}

/// The target, if every run had the same and at least one reached it.
std::optional<double> common_target(const Comparison& comparison) {
  const std::optional<double>& target = comparison.runs.front().target_accuracy;
  bool reached = false;
  for (const RunResult& run : comparison.runs) {
    if (!run.target_accuracy || run.target_accuracy != target) return std::nullopt;
    const ThresholdResult* row = find_threshold(run, *target);
    reached = reached || (row && row->seconds);
  }
  return reached ? target : std::nullopt;
}

std::optional<double> deciding_threshold(const Comparison& comparison) {
  if (const std::optional<double> target = common_target(comparison)) return target;
  std::optional<double> any, common;
  for (const double threshold : comparison.thresholds) {
    bool by_all = true, by_one = false;
    for (const RunResult& run : comparison.runs) {
      const ThresholdResult* row = find_threshold(run, threshold);
      by_all = by_all && row;
      by_one = by_one || (row && row->seconds);
    }
    if (by_one) (by_all ? common : any) = threshold;
  }
  return common ? common : any;
}

std::optional<std::size_t> winner_of(const Comparison& comparison) {
  std::optional<std::size_t> best;
  std::optional<double> best_score;  // larger is better
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const RunResult& run = comparison.runs[i];
    std::optional<double> score;
    if (comparison.deciding) {
      const ThresholdResult* row = find_threshold(run, *comparison.deciding);
      if (row && row->seconds) score = -*row->seconds;
    } else if (comparison.timing_only) {
      score = run.samples_per_second;
    }
    if (score && (!best_score || *score > *best_score)) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

/// "the runs differ in WHAT: a (x, y), b (z)" if they do. Runs of which it is not known (empty) do not count.
template <class Value>
void note_difference(Comparison& comparison, const char* what, Value value) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const std::string text = value(comparison.runs[i]);
    if (text.empty()) continue;
    const auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == text; });
    if (at == groups.end())
      groups.push_back({text, {comparison.labels[i]}});
    else
      at->second.push_back(comparison.labels[i]);
  }
  if (groups.size() < 2) return;
  std::vector<std::string> parts;
  for (const auto& [text, who] : groups) parts.push_back(fmt::format("{} ({})", text, list_of(who)));
  comparison.notes.push_back(fmt::format("the runs differ in {}: {}", what, list_of(parts)));
}

/// A run that stopped before the winner was there has not shown that it is slower.
void note_short_runs(Comparison& comparison) {
  if (!comparison.deciding || !comparison.winner) return;
  const double best = *find_threshold(comparison.runs[*comparison.winner], *comparison.deciding)->seconds;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const RunResult& run = comparison.runs[i];
    const ThresholdResult* row = find_threshold(run, *comparison.deciding);
    if (!row || row->seconds || run.simulated_seconds >= best) continue;
    comparison.notes.push_back(fmt::format("'{}' ended after {}, before the winner's {}: run longer, it might win", comparison.labels[i],
                                           readable_seconds(run.simulated_seconds), readable_seconds(best)));
  }
}

void add_notes(Comparison& comparison) {
  note_short_runs(comparison);
  note_difference(comparison, "data", [](const RunResult& run) { return run.data; });
  note_difference(comparison, "model", [](const RunResult& run) { return run.model; });
  note_difference(comparison, "target accuracy",
                  [](const RunResult& run) { return run.target_accuracy ? number_text(*run.target_accuracy) : "none"; });
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const RunResult& run = comparison.runs[i];
    const std::string& label = comparison.labels[i];
    if (run.outcome == "interrupted" || run.outcome == "diverged")
      comparison.notes.push_back(fmt::format("'{}' {}", label, run.outcome == "diverged" ? "diverged" : "was interrupted"));
    std::vector<std::string> absent;
    for (const double threshold : comparison.thresholds)
      if (!find_threshold(run, threshold)) absent.push_back(number_text(threshold));
    if (!absent.empty()) comparison.notes.push_back(fmt::format("'{}' was not asked for {} (evaluate.thresholds)", label, list_of(absent)));
    if (!comparison.timing_only && !run.final_test_accuracy)
      comparison.notes.push_back(fmt::format("'{}' has no final accuracy (timing only)", label));
  }
}

}  // namespace

Comparison compare(std::vector<RunResult> runs) {
  if (runs.empty()) throw ResultsError("there is nothing to compare; name the result folders of one or more runs");
  Comparison comparison;
  comparison.runs = std::move(runs);
  comparison.labels = labels_of(comparison.runs);
  comparison.timing_only = true;
  for (std::size_t i = comparison.runs.size(); i-- > 0;) {
    const RunResult& run = comparison.runs[i];
    if (run.scheme == "ssgd") comparison.reference = i;
    if (run.final_test_accuracy) comparison.timing_only = false;
    for (const ThresholdResult& row : run.thresholds) {
      comparison.thresholds.push_back(row.threshold);
      if (row.seconds) comparison.timing_only = false;
    }
  }
  auto& thresholds = comparison.thresholds;
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  comparison.deciding = deciding_threshold(comparison);
  comparison.winner = winner_of(comparison);
  comparison.verdict = verdict(comparison);
  add_notes(comparison);
  return comparison;
}

}  // namespace straggler
