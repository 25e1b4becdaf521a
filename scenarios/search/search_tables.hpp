// find.csv and crossover.csv, and their text.
#pragma once
#include <string>

#include "scenarios/search/crossover.hpp"
#include "scenarios/search/find.hpp"

namespace straggler {

/// Swept paths, the settings, `batch`, then METRIC_mean, _sd, _ci95 and _count (of how many repeats), `repeats`, `best`; a row for each
/// setting that was tried, in that order.
std::string find_csv(const SearchFile& search, const FindOutcome& outcome);
/// The best setting of each group, its interval, its flat neighbourhood, and whether it lies on the edge of the settings tried.
std::string find_text(const SearchFile& search, const FindOutcome& outcome);

/// Swept paths, the path along which, then of each of the two `NAME_mean`, `_ci95` and `_count`, `difference` (first minus second, mean of
/// paired repeats), `difference_ci95`, the `verdict`, and who is `ahead` and `better`; a row for each value that was tried, in the order of
/// the values.
std::string crossover_csv(const SearchFile& search, const CrossoverOutcome& outcome);
/// The verdict on one value, as pair_words().
std::string compared_words(const CrossoverSpec& spec, const ComparedPoint& point);
/// A sentence for each group, and the effect of noise.
std::string crossover_text(const SearchFile& search, const CrossoverOutcome& outcome);

}  // namespace straggler
