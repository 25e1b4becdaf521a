// report.html of a run, from the files of its result folder.
#pragma once
#include <filesystem>
#include <string>

namespace straggler {

/// The whole page. `folder` holds what `run` wrote. Throws ResultsError.
std::string run_page(const std::filesystem::path& folder);

}  // namespace straggler
