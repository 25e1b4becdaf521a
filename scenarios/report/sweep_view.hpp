// View of a sweep for its report: axes of numbers and of words, settings, and one metric by which settings are compared.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/results/endings.hpp"
#include "scenarios/results/reader.hpp"
#include "scenarios/statistics/better.hpp"
#include "scenarios/statistics/said.hpp"
#include "scenarios/statistics/statistics.hpp"
#include "scenarios/sweep/derived_scalars.hpp"
#include "scenarios/sweep/sweep_run.hpp"
#include "scenarios/sweep/swept_axes.hpp"

namespace straggler {

struct ReportAxis {
  std::string title;                // "workers", "bandwidth", "scheme"
  std::vector<std::string> paths;   // more than one: varied together
  std::vector<std::string> labels;  // of its values
  std::vector<double> numbers;      // of its values, in SI; empty: words
  bool workers = false;             // how many there are
  bool workload = false;            // a workload: its values do not compete
};

/// "bandwidth 1Gbps"
Said said_of(const ReportAxis& axis, std::size_t value);
/// "bandwidth"
Said title_of(const ReportAxis& axis);

/// The metric by which settings are compared.
struct ReportMetric {
  std::string key;    // a scalar of the tables
  std::string title;  // "time to 0.8 test accuracy"
  std::string why;    // a sentence: why this one
  bool less_is_better = true;
  std::string (*text)(double) = nullptr;
  bool speed = false;  // a measure of speed, not of learning
};

struct ReportSetting : SweptSetting {
  std::vector<std::size_t> at;  // [axes]: index of its value
};

/// The comparison of some settings by the metric. All lists are of settings.
struct Ranking {
  /// The one ahead first; settings without any value are left out.
  std::vector<std::size_t> order;
  std::optional<std::size_t> winner;
  std::vector<std::size_t> alike, open;  // no difference from the one ahead; too few runs
  std::vector<NarrowLead> narrow;        // worse than the one ahead, by less than 10 %
  bool all_alike = true;                 // the one ahead and `alike`: each pair of them
  bool one_run = false;                  // of each, and the seed matters: nothing can be tested
  bool level = false;                    // one_run: the first two differ by less than level_ratio
};

class SweepView {
 public:
  /// Keeps references to all of them. `seedless`: the seed changes nothing of the timing.
  SweepView(const std::vector<std::string>& columns, const SweepOutcome& outcome, bool seedless = false);

  const std::vector<std::string>& columns() const { return columns_; }
  const SweepOutcome& outcome() const { return outcome_; }
  const std::vector<ReportAxis>& axes() const { return axes_; }
  const std::vector<ReportSetting>& settings() const { return settings_; }
  const ReportMetric& metric() const { return metric_; }

  const SweepScalars& scalars() const { return scalars_; }
  /// Some finished run has a value.
  bool has(const std::string& key) const;
  /// The setting's mean; "diverged" and the like where no run finished.
  Said mean_said(const ReportSetting& setting, const std::string& key, std::string (*text)(double)) const;
  std::string text(const ReportSetting& setting, const std::string& key, std::string (*text)(double)) const;
  RepeatStatistics metric_of(std::size_t setting) const { return scalars_.statistics(settings_[setting], metric_.key); }
  /// The mean over the runs of a setting, as comparisons see one.
  RunResult result(std::size_t setting) const;
  /// The setting at these values of the axes; none if it has no finished point.
  std::optional<std::size_t> setting_at(const std::vector<std::size_t>& at) const;
  /// "scheme asgd, bandwidth 1Gbps"
  std::string name_of(const ReportSetting& setting) const;
  /// "asgd, bandwidth 1Gbps": schemes need no title.
  std::string short_name_of(const ReportSetting& setting) const;
  /// Without axes of the workload, or these alone.
  Said rival_said(const ReportSetting& setting) const;
  Said workload_said(const ReportSetting& setting) const;
  /// By the rule of better.hpp.
  Ranking rank(const std::vector<std::size_t>& settings, TestFamily family = TestFamily::all_pairs) const;
  /// Settings of one workload each, in the sweep's order.
  std::vector<std::vector<std::size_t>> workloads() const;
  /// The metric does not depend on the seed.
  bool exact() const { return seedless_ && metric_.speed; }
  /// Most repeats that a setting has.
  std::size_t most_repeats() const;

 private:
  Contender contender(const ReportSetting& setting) const;
  void find_metric();

  const std::vector<std::string>& columns_;
  const SweepOutcome& outcome_;
  SweepScalars scalars_;
  std::vector<ReportAxis> axes_;
  std::vector<ReportSetting> settings_;
  std::map<std::vector<std::size_t>, std::size_t> places_;
  ReportMetric metric_;
  bool seedless_;
};

}  // namespace straggler
