// Rows of CSV tables by rank.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/formats/given_file.hpp"
#include "scenarios/import/imported.hpp"
#include "sim/base/csv_rows.hpp"

namespace straggler {

/// The columns of the first line that is neither blank nor a comment.
std::vector<std::string> table_columns(std::string_view text);
bool has_column(const std::vector<std::string>& names, std::string_view name);
/// Throws DataError: "FILE: what".
[[noreturn]] void refuse_table(const std::string& file, const std::string& what);

/// A table by rank that this import cannot read, for all it seems: what is wrong with its columns, and what would be right. Empty: none.
std::string near_rank_table(std::string_view text);
/// "input_wait_ms" is in milliseconds; a name without a unit is in seconds if it says that it is a time. Nothing: it says no time.
std::optional<double> unit_of_column(std::string_view column);
/// The column that numbers steps; names.size(): there is none.
std::size_t step_column(const std::vector<std::string>& names);

/// Row after row; comments and blank lines are passed over. All but the constructor throw DataError, with the line.
class RankRows {
 public:
  /// `file` names it in messages; the text outlives this.
  RankRows(const std::string& text, std::string file) : file_(std::move(file)), rows_(text) {}
  const std::vector<std::string>& names() const { return rows_.names(); }
  bool next();
  /// names().size(): there is none.
  std::size_t column(std::string_view name) const { return rows_.column(name); }
  std::size_t line() const { return rows_.line(); }
  std::string_view text(std::size_t column) const { return rows_.text(column); }
  /// Nothing where the field is empty. From `least` to 1e15.
  std::optional<double> number(std::size_t column, double least) const;
  /// Of the column `rank`.
  std::int64_t rank() const;

 private:
  std::string file_;
  CsvRows rows_;
  std::size_t count_ = 0;
};

/// Whether the table has a pipeline's operations: columns `optype` and `stage` (or `pp_rank`).
bool is_pipeline_table(const std::vector<std::string>& columns);

/// Whether the table is a matrix of seconds: columns `step`, `rank0`, `rank1`, … (or 0, 1, …), or `rank`, `step0`, `step1`, ….
bool is_matrix(const std::vector<std::string>& columns);
/// The same with the columns rank, step and seconds. Requires: it is one. Throws DataError.
std::string matrix_rows(const std::string& text, const std::string& file);

/// NVRx's lines of scores by rank.
bool has_scores(std::string_view text);
/// No job: scores are relative.
Imported import_scores(const GivenFile& file, const std::string& text);

/// TraceLens' tables of collectives: by rank, and over all ranks.
bool is_tracelens(std::string_view text);
/// Files with their texts, all of these. Throws DataError.
Imported import_tracelens(const std::vector<std::pair<const GivenFile*, std::string>>& files);

}  // namespace straggler
