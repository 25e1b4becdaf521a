// Text files of fields, for data sets and partitions: read whole, with the line that each field stands on.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/base/text_lines.hpp"

namespace straggler {

/// A whole file. Throws DataError, with `remedy` ("give …"), if there is none or it cannot be read.
std::string read_text(const std::filesystem::path& path, std::string_view remedy);

/// Goes through the lines that hold something, without `#` comments (`comments`) and without the blanks around them.
class FilledLines {
 public:
  FilledLines(std::string_view text, bool comments) : lines_(text), comments_(comments) {}
  /// False at the end.
  bool next(std::string_view& line);
  std::size_t number() const { return lines_.number(); }  // of the line that came last, from 1

 private:
  TextLines lines_;
  bool comments_;
};

}  // namespace straggler
