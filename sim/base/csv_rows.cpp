#include "sim/base/csv_rows.hpp"

#include <algorithm>
#include <string>

namespace straggler {

CsvRows::CsvRows(std::string_view text) : lines_(text) {
  if (split())
    for (const CsvField& field : splitter_.fields()) names_.emplace_back(field.text);
}

std::size_t CsvRows::column(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
}

bool CsvRows::split() {
  for (std::string_view line; lines_.next(line);) {
    const std::string_view bare = trimmed(line);
    if (bare.empty() || bare.front() == '#') continue;
    if (splitter_.split(line)) return true;
    fault_ = "line " + std::to_string(lines_.number()) + ": a quote is not closed";
    return false;
  }
  return false;
}

bool CsvRows::next() {
  if (!fault_.empty() || !split()) return false;
  if (splitter_.fields().size() == names_.size()) return true;
  fault_ = "line " + std::to_string(lines_.number()) + ": has " + std::to_string(splitter_.fields().size()) +
           " fields, and the first line " + std::to_string(names_.size());
  return false;
}

}  // namespace straggler
