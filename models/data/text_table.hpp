// Text files of fields, for data sets and partitions: read whole, with the line number of each field.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/base/text_lines.hpp"

namespace straggler {

inline constexpr std::uintmax_t largest_table = std::uintmax_t{1} << 30;  // bytes; it is held in memory while it is read

/// A whole file. Throws DataError, with `remedy` ("give …"), if it is missing or unreadable, or larger than that.
std::string read_text(const std::filesystem::path& path, std::string_view remedy);

/// Iterates over the non-empty lines, without `#` comments (`comments`) and surrounding blanks.
class FilledLines {
 public:
  FilledLines(std::string_view text, bool comments) : lines_(text), comments_(comments) {}
  /// False at the end.
  bool next(std::string_view& line);
  std::size_t number() const { return lines_.number(); }  // of the last line, from 1

 private:
  TextLines lines_;
  bool comments_;
};

}  // namespace straggler
