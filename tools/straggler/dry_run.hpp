// `sweep --dry-run`: what would be run, without running or writing anything.
#pragma once
#include <filesystem>

#include "scenarios/search/search.hpp"
#include "scenarios/sweep/sweep_run.hpp"

namespace straggler::cli {

/// Prints every point with its seed and whether `state_file` has it, then counts and what is known of the cost: samples, arithmetic,
/// memory, and seconds where the state has finished points. Of a search, how many points it may take. Throws ScenarioErrors where a point
/// is wrong.
void print_dry_run(const SearchFile& search, const SweepOptions& options, const PoolOptions& pool, const std::filesystem::path& state_file);

}  // namespace straggler::cli
