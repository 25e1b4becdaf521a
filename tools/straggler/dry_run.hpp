// `sweep --dry-run`: lists the runs without running or writing anything.
#pragma once
#include <filesystem>

#include "scenarios/search/search.hpp"
#include "scenarios/sweep/sweep_run.hpp"

namespace straggler::cli {

/// Prints every point with its seed and whether `state_file` has it, then counts and the known cost: samples, arithmetic, memory, and
/// seconds if the state has finished points. For a search, prints the largest number of points. Throws ScenarioErrors if a point is wrong.
void print_dry_run(const SearchFile& search, const SweepOptions& options, const PoolOptions& pool, const std::filesystem::path& state_file);

}  // namespace straggler::cli
