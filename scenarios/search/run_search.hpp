// Runs the search of a sweep file, and describes a sweep or a search.
#pragma once
#include <string>

#include "scenarios/search/search.hpp"
#include "scenarios/search/search_outcome.hpp"
#include "scenarios/sweep/sweep_run.hpp"

namespace straggler {

/// The identity of a sweep or a search: the file, the changes, the program and its math.
Description describe_run(const SearchFile& search, const SweepOptions& options, const std::string& kernels);

/// Whether any of the points that it begins with, or that a sweep has, is finished already. Throws ScenarioErrors.
bool can_resume(const SearchFile& search, const SweepOptions& options, PointPool& pool);

/// Requires: the file has a search. Throws ScenarioErrors.
SearchOutcome run_search(const SearchFile& search, const SweepOptions& options, PointPool& pool);

}  // namespace straggler
