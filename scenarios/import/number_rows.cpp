#include "scenarios/import/number_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "sim/base/ascii.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace {

/// "12:34:56" somewhere in it.
bool holds_clock(std::string_view tag) {
  for (std::size_t i = 0; i + 8 <= tag.size(); ++i)
    if (is_digit(tag[i]) && is_digit(tag[i + 1]) && tag[i + 2] == ':' && is_digit(tag[i + 3]) && tag[i + 5] == ':') return true;
  return false;
}

}  // namespace

std::string without_tag(const std::string& text, std::string_view tag) {
  if (trimmed(tag).empty()) return text;
  const bool clock = holds_clock(tag);
  const auto same = [clock](char a, char b) { return a == b || (clock && is_digit(a) && is_digit(b)); };
  std::string out;
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (line.size() >= tag.size() && std::equal(tag.begin(), tag.end(), line.begin(), same)) line.remove_prefix(tag.size());
    out.append(line).push_back('\n');
  }
  return out;
}

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(std::move(word));
  return words;
}

bool is_whole_number(std::string_view word) { return !word.empty() && std::all_of(word.begin(), word.end(), is_digit); }

void NumberRows::problem(std::size_t line, const std::string& what) {
  problems_.emplace_back(Place{0, static_cast<int>(line), 1}, file_.string(), "", what);
}

std::optional<double> NumberRows::number(std::size_t line, const std::string& word, const char* column) {
  try {
    return parse_number(word);
  } catch (const std::invalid_argument& error) {
    problem(line, fmt::format("{}: {}", column, error.what()));
    return std::nullopt;
  }
}

void NumberRows::raise() const {
  if (!problems_.empty()) throw ScenarioErrors(problems_);
}

}  // namespace straggler
