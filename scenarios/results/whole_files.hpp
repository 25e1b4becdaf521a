// Files that appear whole or not at all.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace straggler {

/// Writes every (name, text) into `folder`, which is made if it is not there: all beside their places first, then renamed. Throws
/// ResultsError. Removes what killed writers of these files left there.
void write_whole_files(const std::filesystem::path& folder, const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace straggler
