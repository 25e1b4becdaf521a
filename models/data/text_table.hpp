// Text files of separated fields: read whole, cut into fields, with the line that each stands on.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// A whole file. Throws DataError, with `remedy` ("give …"), if there is none or it cannot be read.
std::string read_text(const std::filesystem::path& path, std::string_view remedy);

/// Goes through the lines that hold something, without `#` comments (`comments`) and carriage returns.
class Lines {
 public:
  Lines(std::string_view text, bool comments) : rest_(text), comments_(comments) {}
  /// False at the end.
  bool next(std::string_view& line);
  std::size_t number() const { return number_; }  // of the line that came last, from 1

 private:
  std::string_view rest_;
  bool comments_;
  std::size_t number_ = 0;
};

/// The fields of a line, without the spaces around them and without double quotes around one ("" in it is a quote; quoted fields end on
/// the line that they began on). `separator` ' ': any number of spaces and tabs. Fields are views of `line` or, if they held a quote, of
/// `unquoted`. False if a quote is not closed.
bool split_fields(std::string_view line, char separator, std::vector<std::string_view>& fields, std::vector<std::string>& unquoted);

/// The whole field as a number; nothing if it is not one.
std::optional<double> as_number(std::string_view field);
std::optional<std::int64_t> as_integer(std::string_view field);

}  // namespace straggler
