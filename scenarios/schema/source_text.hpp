// The text of a scenario file, once it is known to be text.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "scenarios/schema/errors.hpp"

namespace straggler {

/// The expected kind of file, for messages: a "scenario" begins with "straggler: 1".
struct TextKind {
  const char* noun = "scenario";
  const char* beginning = "straggler: 1";
};

/// The path of standard input, and its name in messages.
inline constexpr const char* standard_input = "standard input";
/// The source named by an argument of the command line: "-" is standard input, everything else a file.
std::filesystem::path input_file(const std::string& argument);

/// Reads the file, or standard input. Adds a problem and returns nothing if it cannot be read, is a folder, is longer than
/// YamlLimits::bytes, or is not text (see check_text).
std::optional<std::string> read_text(const std::filesystem::path& file, Problems& problems, const TextKind& kind = {});

/// True if `text` is UTF-8 without control characters, not empty, and indented with spaces; else adds a problem at the place.
/// Windows line ends become plain ones and a byte order mark goes.
bool check_text(std::string& text, int source, Problems& problems, const TextKind& kind = {});

}  // namespace straggler
