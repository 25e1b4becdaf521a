// The results in a folder, and which of its files may be read.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/report/charts.hpp"

namespace straggler {

/// Results and scenario files below `root`, to a depth of 4 folders, at most 2,000, by path; unreadable ones are left out. An array of
/// objects: `path` relative to `root`, `kind` ("run", "scenario", "sweep", "race", ...), `page` (it has a report.html), `scenario` (the
/// path of a scenario file for what-if questions; null: none), and of runs `name`, `scheme`, `workers`, `outcome`, `simulated_seconds`,
/// `samples_per_second`, `step_s`, `scaling_efficiency`, `time_to_target_s`, `target_accuracy`, `final_test_accuracy`, as in summary.json.
nlohmann::ordered_json list_results(const std::filesystem::path& root);

/// Runs in progress below `root`: `name`, and `rows` of their live.csv as arrays of numbers (LiveProgress), at most 2,000; null where
/// there is no accuracy.
nlohmann::ordered_json list_running(const std::filesystem::path& root);

/// The accuracies of such rows over simulated time; none if there are fewer than two.
std::optional<LineChart> live_chart(const std::string& name, const nlohmann::ordered_json& rows);

/// The regular file at `relative` below `root`, if it is one that a page may link to: a table, a page, a picture or a text that this
/// program writes. None: there is no such file, it is hidden, it lies outside of `root` (by "..", an absolute path or a symbolic link), or
/// is of another kind.
std::optional<std::filesystem::path> served_file(const std::filesystem::path& root, std::string_view relative);

}  // namespace straggler
