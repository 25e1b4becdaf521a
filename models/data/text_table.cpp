#include "models/data/text_table.hpp"

#include <fmt/format.h>

#include "models/data/dataset.hpp"

namespace straggler {

std::string read_text(const std::filesystem::path& path, std::string_view remedy) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw DataError(fmt::format("{}: no such file; {}", path.string(), remedy));
  if (!std::filesystem::is_regular_file(path, error)) throw DataError(fmt::format("{}: not a file; {}", path.string(), remedy));
  if (std::filesystem::file_size(path, error) > largest_table && !error)
    throw DataError(fmt::format("{}: is larger than {} GiB; use fewer rows, or a binary format", path.string(), largest_table >> 30));
  FileText file = read_file(path);
  if (file.fault == FileFault::closed)
    throw DataError(fmt::format("{}: cannot be opened ({}); make it readable", path.string(), file.reason));
  if (file.fault != FileFault::none)
    throw DataError(fmt::format("{}: only {} bytes could be read ({}); get a whole file", path.string(), file.text.size(), file.reason));
  return std::move(file.text);
}

bool FilledLines::next(std::string_view& line) {
  while (lines_.next(line)) {
    if (comments_) line = line.substr(0, line.find('#'));
    if (line = trimmed(line); !line.empty()) return true;
  }
  return false;
}

}  // namespace straggler
