// report.html of a run, from the files of its result folder.
#pragma once
#include <filesystem>
#include <string>

namespace straggler {

struct Scenario;

/// The whole page. `folder`: the results of `run`; `scenario`: its scenario.yaml, if it has been read already. Throws ResultsError.
std::string run_page(const std::filesystem::path& folder, const Scenario* scenario = nullptr);

}  // namespace straggler
