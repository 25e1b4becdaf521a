// Errors for the user, and the exit codes of programs that they end.
#pragma once
#include <stdexcept>
#include <string>

namespace straggler {

/// On which scripts may rely (docs/scenario.md).
struct Exit {
  static constexpr int done = 0, exceeded = 1, bad_input = 2, cannot_go_on = 3, interrupted = 130;
};

/// what() is a line for the user: place, what is wrong, what would be right. Most refuse wrong input.
struct Refusal : std::runtime_error {
  explicit Refusal(const std::string& line, int code = Exit::bad_input) : std::runtime_error(line), exit(code) {}
  int exit;
};

/// Nothing that was given is wrong, but the program cannot continue.
struct CannotContinue : Refusal {
  explicit CannotContinue(const std::string& line) : Refusal(line, Exit::cannot_go_on) {}
};

}  // namespace straggler
