// The final output of `run`.
#pragma once
#include <filesystem>
#include <string>

#include "scenarios/schema/scenario.hpp"
#include "sim/record/record.hpp"

namespace straggler::cli {

/// A page of lines, plain ASCII; equal for equal records. `scenario`: the run's, for the names of its workers.
std::string run_report(const Scenario& scenario, const RunRecord& record, const std::filesystem::path& folder);

}  // namespace straggler::cli
