// Tables whose first line names their columns. Comments (#) and blank lines are passed over.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/csv.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

class CsvRows {
 public:
  /// The text outlives this.
  explicit CsvRows(std::string_view text);
  /// Of the first line that is a row; empty: there is none, or it is damaged.
  const std::vector<std::string>& names() const { return names_; }
  /// names().size(): there is none.
  std::size_t column(std::string_view name) const;
  /// False at the end, and at a row that is no good: see fault().
  bool next();
  /// "line 3: has 2 fields, and the first line 3"; empty: nothing is wrong.
  const std::string& fault() const { return fault_; }
  std::string_view text(std::size_t column) const { return splitter_.fields()[column].text; }
  std::size_t line() const { return lines_.number(); }

 private:
  bool split();
  TextLines lines_;
  CsvSplitter splitter_;
  std::vector<std::string> names_;
  std::string fault_;
};

}  // namespace straggler
