// report.html of a run, from the files of its result folder.
#pragma once
#include <filesystem>
#include <string>

#include "scenarios/report/page.hpp"

namespace straggler {

struct Scenario;

/// The whole page. `folder`: the results of `run`; `scenario`: its scenario.yaml, if it has been read already. Throws ResultsError.
PageParts run_page_parts(const std::filesystem::path& folder, const Scenario* scenario = nullptr);
std::string run_page(const std::filesystem::path& folder);

}  // namespace straggler
