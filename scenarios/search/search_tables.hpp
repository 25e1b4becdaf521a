// find.csv and crossover.csv.
#pragma once
#include <string>

#include "scenarios/search/search_outcome.hpp"

namespace straggler {

/// Of a find: swept paths, the settings, `batch`, then METRIC_mean, _sd, _ci95 and _count (of how many repeats), `repeats`, `best`; a row
/// for each setting that was tried, in that order. Of a crossover: swept paths, the path along which, then of each of the two `NAME_mean`,
/// `_ci95` and `_count`, `difference` (first minus second, mean of paired repeats), `difference_ci95`, the `verdict`, and who is `ahead`
/// and `better`; a row for each value that was tried, in the order of the values.
std::string search_csv(const SearchOutcome& outcome);
/// "find.csv" or "crossover.csv".
inline const char* search_csv_name(const SearchOutcome& outcome) { return outcome.is_find() ? "find.csv" : "crossover.csv"; }

}  // namespace straggler
