// The formats of measured files. Each reader registers its format from a file of its own, read_NAME.cpp.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/registry.hpp"
#include "validation/calibrate/measured.hpp"

namespace straggler {

struct MeasuredFormat {
  std::string name;
  std::string given;  // for help and refusals, a noun phrase: "a table bytes,seconds (a ping-pong)"; empty: `read` only refuses
  /// The column at which the format's text begins in a line that shows the format: more than 0 behind a launcher's tag. None: other lines.
  /// `header`: the line is the first one that is neither blank nor a comment.
  std::optional<std::size_t> (*mark)(std::string_view line, bool header);
  /// `text` without tags, line by line as in the file. Throws ScenarioErrors with all problems.
  Measurements (*read)(const std::string& text, const std::filesystem::path& file);
};

/// Throws ScenarioErrors: the file is not what is needed. `what`: "is this; give that".
[[noreturn]] void refuse_measured(const std::filesystem::path& file, const std::string& what);
/// The same for a format that calibrate does not read: the formats that it reads follow `what`.
[[noreturn]] void refuse_format(const std::filesystem::path& file, const std::string& what);

}  // namespace straggler
