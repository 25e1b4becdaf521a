// Several results of a folder as one comparison.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>

namespace straggler {

/// Of a request {results: [paths below `root`]}, at least two runs: writes the page of their comparison below `what-if` and returns {page,
/// verdict}. Throws std::invalid_argument, ResultsError.
nlohmann::ordered_json compare_results(const std::filesystem::path& root, const nlohmann::ordered_json& request);

}  // namespace straggler
