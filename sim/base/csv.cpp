#include "sim/base/csv.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "sim/base/ascii.hpp"

namespace straggler {

namespace {

template <class Number>
std::optional<Number> whole_field_as(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  return value;
}

}  // namespace

bool CsvSplitter::split(std::string_view line) {
  fields_.clear();
  unquoted_.clear();
  while (separator_ == ' ' && !line.empty() && is_blank(line.back())) line.remove_suffix(1);
  for (std::size_t at = 0;;) {
    while (at < line.size() && is_blank(line[at])) ++at;
    fields_.push_back({{}, at + 1});
    CsvField& field = fields_.back();
    if (at < line.size() && line[at] == '"') {
      if (!quoted(line, at, field)) return false;
    } else {
      const std::size_t first = at;
      while (at < line.size() && !is_separator(line[at])) ++at;
      std::size_t end = at;
      while (end > first && is_blank(line[end - 1])) --end;
      field.text = line.substr(first, end - first);
    }
    if (at >= line.size()) return true;
    ++at;
  }
}

bool CsvSplitter::quoted(std::string_view line, std::size_t& at, CsvField& field) {
  const std::size_t first = at + 1, before = unquoted_.size();
  bool views = true;  // until a quote inside
  for (at = first;; ++at) {
    if (at >= line.size()) {
      fault_ = Fault::open_quote;
      return false;
    }
    const bool quote = line[at] == '"';
    if (quote && (at + 1 >= line.size() || line[at + 1] != '"')) break;
    if (quote && views) {
      unquoted_.reserve(line.size());  // all of the line's fields have room: views of it stay
      unquoted_ += line.substr(first, at - first);
      views = false;
    }
    if (quote) ++at;
    if (!views) unquoted_ += line[at];
  }
  field.text = views ? line.substr(first, at - first) : std::string_view(unquoted_).substr(before);
  for (++at; at < line.size() && !is_separator(line[at]); ++at)
    if (!is_blank(line[at])) {
      fault_ = Fault::text_behind_quote;
      return false;
    }
  return true;
}

std::optional<double> as_number(std::string_view field) { return whole_field_as<double>(field); }
std::optional<std::int64_t> as_integer(std::string_view field) { return whole_field_as<std::int64_t>(field); }

/// A spreadsheet would compute it. Numbers and quantities ("-5", "+1e3", "-20ms") and a lone sign are none.
bool is_formula(std::string_view text) {
  if (text.empty()) return false;
  const char first = text.front();
  if (first == '=' || first == '@' || first == '\t' || first == '\r') return true;
  if ((first != '+' && first != '-') || text.size() == 1 || as_number(text)) return false;
  const bool number = is_digit(text[1]) || text[1] == '.';
  return !number || text.find_first_of("(|!") != std::string_view::npos;
}

bool plain_csv(std::string_view text) {
  return !is_formula(text) && std::none_of(text.begin(), text.end(), [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; });
}

std::string csv_text(std::string_view text) {
  if (plain_csv(text)) return std::string(text);
  std::string out = is_formula(text) ? "\"'" : "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace straggler
