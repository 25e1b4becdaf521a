// Labels, runs and values of searches and races on their pages.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "scenarios/report/charts.hpp"
#include "scenarios/report/run_sheets.hpp"
#include "scenarios/search/search_outcome.hpp"

namespace straggler {

/// Labels as numbers on one axis, in the unit that its ticks are written in (rates that were written in bits: bits per second).
struct LabelNumbers {
  std::vector<std::optional<double>> numbers;  // [labels]; none: it is no number, or of another kind than the first
  NumberText text = nullptr;
};
LabelNumbers numbers_of_labels(const std::vector<std::string>& labels);

/// "workers", or "workers[0]" where that is one of several groups: of a searched setting in the runs of `outcome`.
std::string setting_title(const SearchOutcome& outcome, const SearchedSetting& setting);

/// Those that did not fail.
std::vector<ShownRun> shown_runs(const std::vector<StudyRun>& runs);

/// Values that are not finite (a loss that overflowed) have no place in a picture: it shows none then.
RepeatStatistics drawable(const Measured& measured);

}  // namespace straggler
