// report.html of a sweep, and its maps as separate files.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/sweep/sweep_run.hpp"

namespace straggler {

/// (name, text) of the files: report.html first, then map.svg, map-2.svg … if the sweep has maps. `description`: from the sweep's state.
/// Equal finished points give equal bytes, in whatever order they were run.
std::vector<std::pair<std::string, std::string>> sweep_report_files(const Description& description, const std::vector<std::string>& columns,
                                                                    const SweepOutcome& outcome);

/// Removes map.svg, map-2.svg … of an earlier report in `folder`, except those among `files`. Pictures of other origin stay.
void remove_old_maps(const std::filesystem::path& folder, const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace straggler
