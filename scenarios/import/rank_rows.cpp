#include "scenarios/import/rank_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/quantity.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_rows = 4'000'000;

/// "rank 3" of the word "rank" is 3; a bare number may be of any word.
std::optional<std::int64_t> numbered(std::string_view column, std::string_view word) {
  if (column.starts_with(word)) column.remove_prefix(word.size());
  while (!column.empty() && (column.front() == ' ' || column.front() == '_' || column.front() == '-')) column.remove_prefix(1);
  const std::optional<std::int64_t> number = as_integer(column);
  return number && *number >= 0 ? number : std::nullopt;
}

/// The word of the numbered columns of a matrix, "rank" or "step"; nothing: it is none.
const char* across(const std::vector<std::string>& columns) {
  for (const auto& [down, word] : {std::pair("step", "rank"), std::pair("rank", "step")}) {
    std::size_t numbers = 0, others = 0;
    bool named = false;
    for (const std::string& column : columns) {
      if (column == down) continue;
      ++(numbered(column, word) ? numbers : others);
      named = named || column.starts_with(word);
    }
    if (numbers >= 2 && others == 0 && (numbers < columns.size() || (named && std::string_view(word) == "rank"))) return word;
  }
  return nullptr;
}

constexpr std::array names_of_steps = {"step", "iteration", "iter", "global_step", "step_id"};

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

std::optional<double> unit_of_column(std::string_view column) {
  for (const auto& [end, seconds] : {std::pair("_ms", 1e-3), std::pair("_us", 1e-6), std::pair("_s", 1.0), std::pair("_sec", 1.0),
                                     std::pair("_seconds", 1.0), std::pair("(ms)", 1e-3), std::pair("(s)", 1.0), std::pair("(us)", 1e-6)})
    if (column.ends_with(end)) return seconds;
  for (const char* name : {"seconds", "time", "duration", "elapsed"})
    if (column == name) return 1.0;
  return column.ends_with("_time") ? std::optional(1.0) : std::nullopt;
}

std::size_t step_column(const std::vector<std::string>& names) {
  for (const char* name : names_of_steps)
    if (has_column(names, name)) return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  return names.size();
}

std::string near_rank_table(std::string_view text) {
  const std::vector<std::string> names = table_columns(text);
  if (names.empty()) return {};
  if (names.size() == 1)
    for (const char separator : {';', '\t', '|'}) {
      CsvSplitter splitter(separator);
      if (!splitter.split(names.front()) || splitter.fields().size() < 2) continue;
      if (std::ranges::any_of(splitter.fields(), [](const CsvField& field) { return lower_case(field.text) == "rank"; }))
        return fmt::format("separates its columns by {}; separate them by commas: rank,step,seconds",
                           separator == '\t' ? std::string("tabs") : fmt::format("'{}'", separator));
    }
  if (!has_column(names, "rank")) {
    const auto near = std::ranges::find_if(names, [](const std::string& name) { return lower_case(name) == "rank"; });
    if (near == names.end()) return {};
    return fmt::format("has no column rank, but {}; write names of columns in lower case: rank,step,seconds", on_one_line(*near));
  }
  if (is_matrix(names) || std::ranges::any_of(names, [](const std::string& name) { return unit_of_column(name).has_value(); })) return {};
  return "has no column of times; add one: seconds, or a name that ends in _time, _s, _ms or _us";
}

bool is_pipeline_table(const std::vector<std::string>& columns) {
  return has_column(columns, "optype") && (has_column(columns, "stage") || has_column(columns, "pp_rank"));
}

bool is_matrix(const std::vector<std::string>& columns) { return across(columns) != nullptr; }

std::string matrix_rows(const std::string& text, const std::string& file) {
  RankRows rows(text, file);
  const std::string_view word = across(rows.names());
  const bool ranks_across = word == "rank";
  const std::size_t down = rows.column(ranks_across ? "step" : "rank");
  std::string out = "rank,step,seconds\n";
  for (std::int64_t row = 0; rows.next(); ++row) {
    const std::string at = down < rows.names().size() ? std::string(rows.text(down)) : std::to_string(row);
    for (std::size_t c = 0; c < rows.names().size(); ++c) {
      if (c == down) continue;
      const std::optional<double> seconds = rows.number(c, 0);
      if (!seconds) continue;
      const std::int64_t number = *numbered(rows.names()[c], word);
      out += ranks_across ? fmt::format("{},{},{}\n", number, csv_text(at), format_number(*seconds))
                          : fmt::format("{},{},{}\n", csv_text(at), number, format_number(*seconds));
    }
  }
  return out;
}

std::vector<std::string> table_columns(std::string_view text) { return CsvRows(text).names(); }

bool has_column(const std::vector<std::string>& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

void refuse_table(const std::string& file, const std::string& what) { throw DataError(file + ": " + what); }

bool RankRows::next() {
  if (!rows_.next()) {
    if (!rows_.fault().empty()) refuse_table(file_, rows_.fault() + "; get the whole file");
    return false;
  }
  if (++count_ > most_rows) refuse_table(file_, "has more than 4 million rows; give fewer steps");
  return true;
}

std::optional<double> RankRows::number(std::size_t column, double least) const {
  const std::string_view field = text(column);
  if (field.empty()) return std::nullopt;
  const std::optional<double> value = as_number(field);
  if (!value || !(*value >= least && *value <= 1e15))
    refuse_table(file_, fmt::format("line {}: {} is '{}', which is no number from {:g} to 1e15", line(), on_one_line(names()[column]),
                                    on_one_line(std::string(field.substr(0, 40))), least));
  return value;
}

std::int64_t RankRows::rank() const {
  const std::optional<std::int64_t> value = as_integer(text(column("rank")));
  if (!value || *value < 0 || *value > 1'000'000'000)
    refuse_table(file_, fmt::format("line {}: rank is no whole number from 0; write the rank", line()));
  return *value;
}

}  // namespace straggler
