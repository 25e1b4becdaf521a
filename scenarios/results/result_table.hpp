// A table of a result folder, read back.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace straggler {

class ResultTable {
 public:
  /// Throws ResultsError if the file is missing, or a row has other cells than the header. A file of more than `most_bytes` is not read:
  /// large() then, and no rows.
  explicit ResultTable(const std::filesystem::path& file, std::uintmax_t most_bytes = most_shown);
  static constexpr std::uintmax_t most_shown = 2 << 20;  // that are read for a page or a sentence

  bool large() const { return large_; }
  std::size_t rows() const { return rows_.size(); }
  bool has(const std::string& column) const { return columns_.contains(column); }
  /// "FILE:LINE".
  std::string place(std::size_t row) const;
  /// Throws ResultsError if there is no such column.
  const std::string& text(std::size_t row, const std::string& column) const;
  /// None for an empty cell and for values that are not finite. Throws ResultsError for text that is no number.
  std::optional<double> number(std::size_t row, const std::string& column) const;

 private:
  struct Row {
    std::size_t line = 0;
    std::vector<std::string> cells;
  };

  std::filesystem::path file_;
  bool large_ = false;
  std::map<std::string, std::size_t> columns_;
  std::vector<Row> rows_;
};

/// The whole text of a file. Throws ResultsError.
std::string file_text(const std::filesystem::path& file);

}  // namespace straggler
