// Whose results a run is about to replace.
#pragma once
#include <filesystem>
#include <string>

#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// Of a result folder that holds a run with other settings: a sentence with its name, its time and the first settings that differ. Empty:
/// it holds no run, or one with the same settings. `timing_only`: the run to come leaves out the math. Throws nothing but std::bad_alloc.
std::string replaced_results(const std::filesystem::path& folder, const Scenario& scenario, bool timing_only);

}  // namespace straggler
