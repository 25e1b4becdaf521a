// Text files: read whole, or line by line with the number of each line. A byte order mark and the carriage returns of Windows line ends
// are no part of a line.
#pragma once
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iosfwd>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// `text` without the characters of `dropped` at its two ends.
std::string_view trimmed(std::string_view text, std::string_view dropped = " \t\r\n");

/// The lines of a text in memory.
class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {}
  /// False at the end. `line` is a view of the text.
  bool next(std::string_view& line);
  std::size_t number() const { return number_; }  // of the last line, from 1

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// The lines of a file, in memory that does not grow with the file.
class FileLines {
 public:
  static constexpr std::size_t usual_longest = 1 << 20;
  /// `longest`: bytes of the longest line that is taken, its end not counted.
  explicit FileLines(const std::filesystem::path& file, std::size_t longest = usual_longest);
  bool opened() const { return in_.is_open(); }
  /// False at the end, and at a line that is too long or cannot be read. `line` holds until the next call.
  bool next(std::string_view& line);
  std::size_t number() const { return number_; }  // of the last line, from 1
  bool too_long() const { return too_long_; }
  bool broken() const { return in_.bad(); }

 private:
  /// The bytes up to the next line end, or up to the end of the file; false if there are none, or too many.
  bool find(std::string_view& line);
  void read_more();

  std::ifstream in_;
  std::vector<char> buffer_;
  std::size_t longest_, begin_ = 0, end_ = 0, number_ = 0;
  bool too_long_ = false;
};

/// The first line of a file; empty if there is none.
std::string first_line(const std::filesystem::path& file);

enum class FileFault { none, missing, folder, closed, broken };

struct FileText {
  std::string text;
  FileFault fault = FileFault::none;
  std::string reason;  // what the system says of a file that is closed or broken; may be empty
};

inline constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

/// The bytes of a file, the first `most` of them. Not more: a caller with a limit asks for one byte beyond it.
FileText read_file(const std::filesystem::path& file, std::size_t most = no_limit);
/// The same of a stream; `expected`: bytes to make room for.
std::string read_stream(std::istream& in, std::size_t most, std::size_t expected = 1 << 16);

}  // namespace straggler
