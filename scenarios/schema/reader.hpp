// From the text of a scenario to a Scenario, or to everything that is wrong with it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/data/dataset.hpp"
#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/read_options.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// Reads a scenario, with `sets` ("PATH=VALUE") applied in order before anything is checked. Every default is filled in, and every path
/// that is given is absolute and lexically normal: a relative one starts from the file's folder if it stands in the file, from the current
/// folder if in a set. Throws ScenarioErrors with all that is wrong.
Scenario read_scenario(const std::filesystem::path& file, const std::vector<std::string>& sets = {}, const ReadOptions& options = {});

/// The same for a text at hand; `file` names it in messages and gives the folder.
Scenario read_scenario_text(std::string text, const std::filesystem::path& file, const std::vector<std::string>& sets = {},
                            const ReadOptions& options = {});

/// What only the data can tell: throws ScenarioErrors if a batch is larger than the data.
void check_against_data(const Scenario& scenario, const DataInfo& data);

/// One error about `path` of the scenario, at the place where it was written.
[[noreturn]] void throw_error(const Scenario& scenario, std::string_view path, std::string_view what);

}  // namespace straggler
