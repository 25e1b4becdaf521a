// report.html of a run, from the files of its result folder.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "scenarios/report/page.hpp"

namespace straggler {

struct Scenario;

/// The whole page. `folder`: the results of `run`; `scenario`: its scenario.yaml, if it has been read already. Throws ResultsError.
PageParts run_page_parts(const std::filesystem::path& folder, const Scenario* scenario = nullptr);
/// `warn` gets the reason where this version does not read scenario.yaml; may be empty. The page says it, too.
std::string run_page(const std::filesystem::path& folder, const std::function<void(const std::string&)>& warn = {});

}  // namespace straggler
