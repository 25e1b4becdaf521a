#include "scenarios/experiment/failure_trace.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "sim/base/csv.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace {

constexpr std::uintmax_t largest_trace = 1ull << 28;  // bytes
constexpr const char* columns = "unit,from_s,to_s";

[[noreturn]] void fail_trace(const std::string& path, std::size_t line, const std::string& sentence) {
  throw std::invalid_argument(path + (line > 0 ? ":" + std::to_string(line) : "") + ": " + sentence);
}

struct DownSpan {
  Time from, to;  // to: never(), it is not repaired
};

double seconds_in(const std::string& path, std::size_t line, std::string_view text, const char* column) {
  const std::optional<double> value = as_number(text);
  if (!value || !(*value >= 0))
    fail_trace(path, line, std::string(column) + " is '" + shown_text(std::string(text)) + "'; write seconds from 0 on");
  return *value;
}

FaultUnit unit_in(const std::string& path, std::size_t line, std::string_view text, const FaultUnits& units, UnitKind of) {
  const bool number = !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const std::string name = number ? std::string(unit_choice.name_of(of)) + "/" + std::string(text) : std::string(text);
  if (const std::optional<FaultUnit> unit = units.find(name)) return *unit;
  fail_trace(path, line,
             "the cluster has no unit '" + shown_text(name) +
                 "'; write one such as worker/3, host/0, rack/1, server/0, a link of links.csv, or all");
}

/// When it fails and is repaired, in turn.
std::vector<Time> ends_of(std::vector<DownSpan> spans) {
  std::ranges::sort(spans, {}, &DownSpan::from);
  std::vector<Time> out;
  for (const DownSpan& span : spans) {
    if (!out.empty() && span.from <= out.back()) {
      out.back() = std::max(out.back(), span.to);
    } else {
      out.push_back(span.from);
      out.push_back(span.to);
    }
  }
  return out;
}

}  // namespace

std::vector<std::pair<FaultUnit, std::vector<Time>>> read_failure_trace(const std::string& path, const FaultUnits& units, UnitKind of) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    fail_trace(path, 0, std::string("no such file; give the path of a CSV with the columns ") + columns);
  if (std::filesystem::file_size(path, error) > largest_trace)
    fail_trace(path, 0, "more than 256 MiB; give the failures of a shorter time");
  FileLines lines(path);
  if (!lines.opened()) fail_trace(path, 0, "cannot be opened; make it readable");
  CsvSplitter splitter;
  std::map<std::pair<UnitKind, std::uint32_t>, std::vector<DownSpan>> spans;
  bool header = false;
  for (std::string_view line; lines.next(line);) {
    const std::size_t at = lines.number();
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    if (!splitter.split(line)) fail_trace(path, at, "a quote that is not closed, or text behind one; write plain values");
    const std::vector<CsvField>& cells = splitter.fields();
    if (cells.size() != 3) fail_trace(path, at, "there are " + std::to_string(cells.size()) + " columns; write " + columns);
    if (!header) {
      if (cells[0].text != "unit" || cells[1].text != "from_s" || cells[2].text != "to_s")
        fail_trace(path, at, std::string("the first row is no header; write ") + columns);
      header = true;
      continue;
    }
    const FaultUnit unit = unit_in(path, at, trimmed(cells[0].text), units, of);
    const double most = Time::limit().seconds(), from = seconds_in(path, at, trimmed(cells[1].text), "from_s");
    const std::string_view until = trimmed(cells[2].text);
    const double to = until.empty() ? most : seconds_in(path, at, until, "to_s");
    if (from >= most) continue;  // later than any run lasts
    if (to < from)
      fail_trace(path, at,
                 "the failure ends at " + format_number(to) + " s and begins at " + format_number(from) + " s; write a later to_s");
    spans[{unit.kind, unit.number}].push_back({Time::from_seconds(from), to < most ? Time::from_seconds(to) : Time::never()});
  }
  if (lines.broken()) fail_trace(path, 0, "cannot be read to its end; check the disk");
  if (!header) fail_trace(path, 0, std::string("it is empty; write the columns ") + columns);
  std::vector<std::pair<FaultUnit, std::vector<Time>>> out;
  for (auto& [unit, of_unit] : spans) out.push_back({{unit.first, unit.second}, ends_of(std::move(of_unit))});
  return out;
}

}  // namespace straggler
