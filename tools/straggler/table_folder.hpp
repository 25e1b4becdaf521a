// Which folder a command may write its tables into.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace straggler::cli {

/// `out` must be new, be empty or hold tables of `command` from before, or `force` is given: its `table` begins with `mark`. Otherwise
/// throws UsageError (no name) or ResultsError, which name a folder that would do.
void refuse_foreign_folder(const std::filesystem::path& out, const std::string& command, const std::string& table, std::string_view mark,
                           bool force);

}  // namespace straggler::cli
