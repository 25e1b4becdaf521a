// A sweep as its report looks at it: axes of numbers and of words, settings, and one metric by which settings are compared.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/sweep/derived_scalars.hpp"
#include "scenarios/statistics/statistics.hpp"
#include "scenarios/sweep/sweep_run.hpp"
#include "scenarios/sweep/swept_axes.hpp"

namespace straggler {

struct ReportAxis {
  std::string title;                // "workers", "bandwidth", "scheme"
  std::vector<std::string> paths;   // more than one: varied together
  std::vector<std::string> labels;  // of its values
  std::vector<double> numbers;      // of its values, in SI; empty: words
  bool workers = false;             // how many there are
};

/// What settings are compared by.
struct ReportMetric {
  std::string key;    // a scalar of the tables
  std::string title;  // "time to 0.8 test accuracy"
  std::string why;    // a sentence: why this one
  bool less_is_better = true;
  std::string (*text)(double) = nullptr;
};

/// A group of the sweep that has finished points.
struct ReportSetting {
  std::size_t group = 0;
  std::vector<std::size_t> at;  // [axes]: index of its value
  std::vector<const SweepRow*> rows;
};

/// Who is best among some settings, by the metric.
struct Ranking {
  /// In the order of their means; those that missed the target in some repeats come after those that missed it in fewer; settings without
  /// any value are left out.
  std::vector<std::size_t> order;  // settings
  /// How many of the first are not told apart from the first: 1 is a clear winner.
  std::size_t tied = 0;
};

class SweepView {
 public:
  /// Keeps references to all of them.
  SweepView(const std::vector<std::string>& columns, const SweepOutcome& outcome);

  const std::vector<std::string>& columns() const { return columns_; }
  const SweepOutcome& outcome() const { return outcome_; }
  const std::vector<ReportAxis>& axes() const { return axes_; }
  const std::vector<ReportSetting>& settings() const { return settings_; }
  const ReportMetric& metric() const { return metric_; }

  bool has(const std::string& key) const;
  /// By repeat.
  std::map<std::int64_t, double> values(const ReportSetting& setting, const std::string& key) const;
  RepeatStatistics statistics(const ReportSetting& setting, const std::string& key) const;
  RepeatStatistics metric_of(std::size_t setting) const { return statistics(settings_[setting], metric_.key); }
  /// The setting at these values of the axes; none if it has no finished point.
  std::optional<std::size_t> setting_at(const std::vector<std::size_t>& at) const;
  /// "scheme asgd, bandwidth 1Gbps".
  std::string name_of(const ReportSetting& setting) const;
  Ranking rank(std::vector<std::size_t> settings) const;
  /// Most repeats that a setting has.
  std::size_t most_repeats() const;

 private:
  /// Whether the pairs of repeats with equal seeds tell a from b: the 95 % interval of their differences is off 0; with a single pair,
  /// whether they differ at all.
  bool told_apart(std::size_t a, std::size_t b) const;
  void find_metric();

  const std::vector<std::string>& columns_;
  const SweepOutcome& outcome_;
  SweepScalars scalars_;
  std::vector<ReportAxis> axes_;
  std::vector<ReportSetting> settings_;
  std::map<std::vector<std::size_t>, std::size_t> places_;
  ReportMetric metric_;
};

/// "12.3 s", "12.3 s ± 0.4 s", "12.3 s ± 0.4 s (3 of 5)", "missed (0 of 5)"; with one repeat "missed".
std::string value_text(const RepeatStatistics& statistics, std::size_t repeats, std::string (*text)(double));

}  // namespace straggler
