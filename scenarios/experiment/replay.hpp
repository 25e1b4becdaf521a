// The choices of an earlier run, to be forced on another.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// Reads choices.csv of a result folder: one sequence a rank, in its program order. Throws DataError if the folder holds no
/// such run, or one of another scenario (only what decides times may differ: cluster and stop).
std::vector<std::vector<std::int32_t>> read_choices(const std::filesystem::path& folder, const Scenario& scenario);

}  // namespace straggler
