// The identity of a sweep or a search: the file, the changes, the program and its math.
#pragma once
#include <string>

#include "scenarios/search/search.hpp"
#include "scenarios/sweep/sweep_run.hpp"

namespace straggler {

Description describe_run(const SearchFile& search, const SweepOptions& options, const std::string& kernels);

}  // namespace straggler
