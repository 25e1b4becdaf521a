// What `run` prints when it is done.
#pragma once
#include <filesystem>
#include <string>

#include "sim/record/record.hpp"

namespace straggler::cli {

/// A page of lines, plain ASCII; the same for the same record.
std::string run_report(const RunRecord& record, const std::filesystem::path& folder);

}  // namespace straggler::cli
