#include "scenarios/results/result_table.hpp"

#include <fmt/format.h>

#include <cmath>

#include "scenarios/results/out_file.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace fs = std::filesystem;

std::string file_text(const std::filesystem::path& file) {
  constexpr std::uintmax_t most_bytes = 256 << 20;
  std::error_code error;
  if (fs::file_size(file, error) > most_bytes && !error)
    throw ResultsError(fmt::format("{}: is larger than 256 MiB; run the scenario again, with fewer evaluations", file.string()));
  FileText read = read_file(file);
  if (read.fault != FileFault::none)
    throw ResultsError(fmt::format("{}: is missing or cannot be read; run the scenario again to get it", file.string()));
  return std::move(read.text);
}

ResultTable::ResultTable(const std::filesystem::path& file, std::uintmax_t most_bytes) : file_(file) {
  std::error_code error;
  large_ = std::filesystem::file_size(file, error) > most_bytes && !error;
  if (large_) return;
  const std::string text = file_text(file);
  TextLines lines(text);
  CsvSplitter splitter;
  const auto split = [&](std::string_view line) {
    if (!splitter.split(line))
      throw ResultsError(fmt::format("{}:{}: a quote is not closed; run the scenario again", file.string(), lines.number()));
  };
  std::string_view line;
  lines.next(line);
  split(line);
  const std::size_t width = splitter.fields().size();
  for (std::size_t i = 0; i < width; ++i) columns_.emplace(splitter.fields()[i].text, i);
  while (lines.next(line)) {
    if (line.empty()) continue;
    split(line);
    if (splitter.fields().size() != width)
      throw ResultsError(
          fmt::format("{}:{}: has {} cells; the header has {}", file.string(), lines.number(), splitter.fields().size(), width));
    rows_.push_back({lines.number(), {}});
    for (const CsvField& cell : splitter.fields()) rows_.back().cells.emplace_back(cell.text);
  }
}

std::string ResultTable::place(std::size_t row) const { return fmt::format("{}:{}", file_.string(), rows_[row].line); }

const std::string& ResultTable::text(std::size_t row, const std::string& column) const {
  const auto at = columns_.find(column);
  if (at == columns_.end())
    throw ResultsError(fmt::format("{}:1: column '{}' is missing; run the scenario again with this version", file_.string(), column));
  return rows_[row].cells[at->second];
}

std::optional<double> ResultTable::number(std::size_t row, const std::string& column) const {
  const std::string& cell = text(row, column);
  if (cell.empty()) return std::nullopt;
  const std::optional<double> value = as_number(cell);
  if (!value) throw ResultsError(fmt::format("{}: {} is {}; it must be a number or empty", place(row), column, in_quotes(cell)));
  return std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace straggler
