// The program around its commands: which one is run, and what is said of errors.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace straggler::cli {

/// Settings of the process; once, before anything else.
void prepare_process();

/// To be said from now on if standard output cannot be written: what the command is for is in this file or folder.
void results_are_in(const std::filesystem::path& place);

/// Runs the command that the arguments name. Returns the exit code; what went wrong is said on standard error.
int run_program(const std::vector<std::string>& arguments);

/// Runs `body`. Returns its exit code; prints what it throws and returns the code for that. `arguments`: the program's, for hints.
int guarded(const std::vector<std::string>& arguments, const std::function<int()>& body);

}  // namespace straggler::cli
