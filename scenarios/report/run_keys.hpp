// Settings in which runs differ: the keys by which a page groups them.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace straggler {

/// (path, value) of each line of a scenario as the program writes it: "training.batch.per_worker", "256".
std::vector<std::pair<std::string, std::string>> settings_of_text(const std::string& scenario);

/// For each run (title, value) of settings that have several values, of which at least two runs share one; at most `most`. The name and the
/// seed do not count. A setting that a run does not have is "–".
std::vector<std::vector<std::pair<std::string, std::string>>> run_keys(const std::vector<std::string>& scenarios, std::size_t most = 8);

}  // namespace straggler
