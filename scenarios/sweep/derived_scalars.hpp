// Scalars of a sweep's tables that are not in summary.json, since they need several scalars or several points:
//
//   bytes_per_epoch      bytes_sent / epochs
//   speed_up             scaling speed-up: samples_per_second over that of the fewest workers, where worker counts are swept
//   speed_up_to_target   scaling speed-up to the target: time_to_target_s of the fewest workers over this one's
//
// A point is compared with the point of the same repeat (and so the same seed) and otherwise the same setting. Where that one is missing,
// or missed the target, or one of both did not finish, the cell is empty.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scenarios/results/endings.hpp"
#include "scenarios/statistics/statistics.hpp"
#include "scenarios/sweep/sweep_run.hpp"

namespace straggler {

/// [rows of the outcome]: the same keys for each; keys without any value are left out.
std::vector<std::vector<SummaryField>> derived_scalars(const std::vector<std::string>& columns, const SweepOutcome& outcome);

/// A group of the sweep that has points, and its runs.
struct SweptSetting {
  std::size_t group = 0;
  std::vector<const SweepRow*> rows;
  Endings endings() const;
};

/// In the order of the groups.
std::vector<SweptSetting> swept_settings(const SweepOutcome& outcome);

/// Every row's scalars: those of summary.json, derived ones, then scalars that only some of the runs have (times to thresholds).
class SweepScalars {
 public:
  /// Keeps references to the outcome's rows.
  SweepScalars(const std::vector<std::string>& columns, const SweepOutcome& outcome);
  /// In the order of the tables' columns.
  const std::vector<std::string>& keys() const { return keys_; }
  /// Of a row, one of the outcome's own; a scalar that is none if it has no such field.
  const Scalar& find(const SweepRow& row, const std::string& key) const;
  /// By repeat, of runs that finished and have it.
  std::map<std::int64_t, double> values(const SweptSetting& setting, const std::string& key) const;
  RepeatStatistics statistics(const SweptSetting& setting, const std::string& key) const;

 private:
  const SweepRow* first_;
  std::vector<std::vector<SummaryField>> derived_;
  std::vector<std::string> keys_;
};

}  // namespace straggler
