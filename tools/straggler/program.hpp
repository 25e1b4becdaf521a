// The program around its commands: dispatch and error messages.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace straggler::cli {

/// Settings of the process. Called once, first.
void prepare_process();

/// From now on, a failed write to standard output adds that the results are in this file or folder.
void results_are_in(const std::filesystem::path& place);

/// Runs the command that the arguments name. Returns the exit code; errors go to standard error.
int run_program(const std::vector<std::string>& arguments);

/// Runs `body`. Returns its exit code. Prints the exception it throws and returns the code for it. `arguments`: the program's, for hints.
int guarded(const std::vector<std::string>& arguments, const std::function<int()>& body);

}  // namespace straggler::cli
