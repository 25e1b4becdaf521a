#include "validation/tables/csv_table.hpp"

#include <algorithm>
#include <stdexcept>

#include "scenarios/schema/source_text.hpp"
#include "sim/base/ascii.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace {

std::string what_is_wrong(CsvSplitter::Fault fault) {
  return fault == CsvSplitter::Fault::open_quote ? "the quote that opens here is not closed on its line; close it with \""
                                                 : "text follows the closing quote; write a comma, or \"\" for a quote inside";
}

std::string many(std::size_t count, const std::string& what) { return std::to_string(count) + " " + what + (count == 1 ? "" : "s"); }

/// Where a comma stands between two digits.
std::size_t decimal_comma(std::string_view text) {
  for (std::size_t at = 1; at + 1 < text.size(); ++at)
    if (text[at] == ',' && is_digit(text[at - 1]) && is_digit(text[at + 1])) return at;
  return std::string_view::npos;
}

/// "semicolons" where the header is one name, and another mark must stand between the columns.
const char* other_separator(const std::vector<std::string>& columns) {
  if (columns.size() != 1) return nullptr;
  if (columns.front().find(';') != std::string::npos) return "semicolons";
  return columns.front().find('\t') != std::string::npos ? "tabs" : nullptr;
}

}  // namespace

std::string read_measured_text(const std::filesystem::path& file, const std::string& header) {
  const Places places({file.string()});
  Problems problems(places);
  const std::optional<std::string> text = read_text(file, problems, {"table", header.c_str()});
  problems.raise();
  return text.value();
}

CsvTable::CsvTable(const std::filesystem::path& file) : CsvTable(read_measured_text(file), file) {}
CsvTable::CsvTable(const std::string& text, const std::filesystem::path& file) : file_(file) { read(text); }

void CsvTable::read(const std::string& text) {
  const Places places({file_.string()});
  Problems problems(places);
  TextLines lines(text);
  CsvSplitter splitter;
  bool header = false;
  for (std::string_view line; lines.next(line);) {
    const int number = static_cast<int>(lines.number());
    if (const std::string_view bare = trimmed(line); bare.empty() || bare.front() == '#') continue;
    if (!splitter.split(line)) {
      problems.add(Place{0, number, static_cast<int>(splitter.fault_column())}, {}, what_is_wrong(splitter.fault()));
      continue;
    }
    std::vector<CsvCell> cells;
    for (const CsvField& field : splitter.fields()) cells.push_back({std::string(field.text), static_cast<int>(field.column)});
    if (!header) {
      header = true;
      read_header(std::move(cells), number, problems);
      if (const char* separator = other_separator(columns_); separator != nullptr) {
        problems.add(
            Place{0, number, 1}, {},
            std::string("the columns are separated by ") + separator + "; separate them by commas, and write a point before decimals");
        problems.raise();
      }
      continue;
    }
    if (cells.size() != columns_.size())
      problems.add(Place{0, number, 1}, {},
                   "the row has " + many(cells.size(), "cell") + " and the header " + many(columns_.size(), "column") +
                       (cells.size() > columns_.size() && decimal_comma(line) != std::string_view::npos
                            ? "; write one cell for each column, and a point, not a comma, before decimals"
                            : "; write one cell for each column (the file may be cut off)"));
    else
      rows_.push_back({number, std::move(cells)});
  }
  if (!problems.any() && rows_.empty())
    problems.add(whole_file, {},
                 header ? "has a header and no rows; write one row a measurement"
                        : "has no header; write the names of the columns, then one row a measurement");
  problems.raise();
}

void CsvTable::read_header(std::vector<CsvCell> cells, int line, Problems& problems) {
  for (const CsvCell& cell : cells) {
    if (cell.text.empty())
      problems.add(Place{0, line, cell.column}, {}, "a column of the header has no name; name every column");
    else if (find(cell.text))
      problems.add(Place{0, line, cell.column}, {}, "the column " + in_quotes(cell.text) + " is there twice; keep one");
    columns_.push_back(cell.text);
  }
}

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  const auto at = std::find(columns_.begin(), columns_.end(), column);
  return at == columns_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - columns_.begin()));
}

Problem CsvTable::problem(const CsvRow& row, std::size_t column, std::string_view text) const {
  return {Place{0, row.line, row.cells.at(column).column}, file_.string(), columns_.at(column), text};
}

double CsvTable::number(const CsvRow& row, std::size_t column) const {
  const std::string& text = row.cells.at(column).text;
  try {
    if (text.empty()) throw std::invalid_argument("is empty; write a number, or leave the row out");
    if (const std::size_t comma = decimal_comma(text);
        comma != std::string::npos && text.find_first_not_of("0123456789,.eE+-") == std::string::npos)
      throw std::invalid_argument(in_quotes(text) + " has a comma; use a point before decimals, and no mark between thousands");
    return parse_number(text);
  } catch (const std::invalid_argument& error) {
    throw ScenarioErrors(problem(row, column, error.what()));
  }
}

}  // namespace straggler
