// Measured tables: comma-separated values with '#' comments, a header row and quoted cells (RFC 4180).
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/schema/errors.hpp"

namespace straggler {

/// A cell, blanks around it gone unless they were quoted; `column`: its first character, counted from 1.
struct CsvCell {
  std::string text;
  int column = 1;
};

struct CsvRow {
  int line = 0;
  std::vector<CsvCell> cells;  // [columns of the table]
};

class CsvTable {
 public:
  /// Reads the file. Throws ScenarioErrors with all that is wrong: no file, no text, a column named twice, a row with fewer or more cells
  /// than the header, an open quote, no rows.
  explicit CsvTable(const std::filesystem::path& file);
  /// The same for the text of read_measured_text(); `file` names it in messages.
  CsvTable(const std::string& text, const std::filesystem::path& file);

  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<CsvRow>& rows() const { return rows_; }
  const std::filesystem::path& file() const { return file_; }
  std::optional<std::size_t> find(std::string_view column) const;
  /// At a cell; `text`: "what; remedy".
  Problem problem(const CsvRow& row, std::size_t column, std::string_view text) const;
  /// The number in a cell. Throws ScenarioErrors, with one problem, if it is not a number.
  double number(const CsvRow& row, std::size_t column) const;

 private:
  void read(const std::string& text);
  void read_header(std::vector<CsvCell> cells, int line, Problems& problems);

  std::filesystem::path file_;
  std::vector<std::string> columns_;
  std::vector<CsvRow> rows_;
};

/// The text of a measured file. Throws ScenarioErrors if it is not one; `header`: how such a table may begin, for messages.
std::string read_measured_text(const std::filesystem::path& file, const std::string& header = "bytes,seconds");

}  // namespace straggler
