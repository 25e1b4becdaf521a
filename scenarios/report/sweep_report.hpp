// report.html of a sweep, and its maps as files of their own.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/sweep/sweep_run.hpp"

namespace straggler {

/// (name, text) of the files: report.html first, then map.svg, map-2.svg … where the sweep has maps. `description`: what the sweep's state
/// says it is. The same bytes for the same finished points, however they came about.
std::vector<std::pair<std::string, std::string>> sweep_report_files(const Description& description, const std::vector<std::string>& columns,
                                                                    const SweepOutcome& outcome);

/// Removes map.svg, map-2.svg … of an earlier report in `folder`, but for those among `files`. What is no picture of ours stays.
void remove_old_maps(const std::filesystem::path& folder, const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace straggler
