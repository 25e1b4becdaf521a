// report.html of a comparison: learning curves of all runs in one picture, where their time went, and which wins and why.
#pragma once
#include <filesystem>
#include <string>

#include "scenarios/results/comparison.hpp"

namespace straggler {

/// Whether the file is such a page.
bool is_compare_page(const std::filesystem::path& page);

/// The whole page; links to the runs' own pages are as seen from `page_folder`. Reads each run's curve.csv. Throws ResultsError.
std::string compare_page(const Comparison& comparison, const std::filesystem::path& page_folder);

}  // namespace straggler
