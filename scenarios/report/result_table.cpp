#include "scenarios/report/result_table.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

#include "scenarios/results/out_file.hpp"

namespace straggler {
namespace {

/// Cells of a line; one may be in double quotes, within which two stand for one.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"')
        cells.back() += line[++i];
      else
        quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

}  // namespace

std::string file_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw ResultsError(fmt::format("{}: is missing or cannot be read; run the scenario again to get it", file.string()));
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

ResultTable::ResultTable(const std::filesystem::path& file) : file_(file) {
  std::error_code error;
  large_ = std::filesystem::file_size(file, error) > most_bytes && !error;
  if (large_) return;
  std::istringstream lines(file_text(file));
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> head = cells_of(line);
  for (std::size_t i = 0; i < head.size(); ++i) columns_[head[i]] = i;
  for (std::size_t number = 2; std::getline(lines, line); ++number) {
    rows_.push_back(cells_of(line));
    if (rows_.back().size() != head.size())
      throw ResultsError(fmt::format("{}:{}: has {} cells; the header has {}", file.string(), number, rows_.back().size(), head.size()));
  }
}

const std::string& ResultTable::text(std::size_t row, const std::string& column) const {
  const auto at = columns_.find(column);
  if (at == columns_.end())
    throw ResultsError(fmt::format("{}:1: column '{}' is missing; run the scenario again with this version", file_.string(), column));
  return rows_[row][at->second];
}

std::optional<double> ResultTable::number(std::size_t row, const std::string& column) const {
  const std::string& cell = text(row, column);
  if (cell.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size())
    throw ResultsError(fmt::format("{}:{}: {} is '{}'; it must be a number or empty", file_.string(), row + 2, column, cell));
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace straggler
