#include "scenarios/results/compared_runs.hpp"

#include <algorithm>

#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

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
