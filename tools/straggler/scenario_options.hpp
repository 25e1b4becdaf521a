// Options of the commands that run a scenario: its changes, and how it is run.
#pragma once
#include "scenarios/schema/scenario.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

/// --set, --seed, --kernels.
void add_change_options(boost::program_options::options_description_easy_init& add);
/// These, and --timing-only.
void add_scenario_options(boost::program_options::options_description_easy_init& add);
/// The first positional argument, changed by --set and --seed. Throws ScenarioErrors, UsageError.
Scenario read_given_scenario(const Arguments& arguments);
/// The same of this file, with more sets behind those given.
Scenario read_given_scenario(const Arguments& arguments, const std::filesystem::path& file, const std::vector<std::string>& more);
/// The name of an available kernel set; "auto" if none is given. Throws UsageError.
std::string given_kernels(const Arguments& arguments);

}  // namespace straggler::cli
