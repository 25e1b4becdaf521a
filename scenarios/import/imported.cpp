#include "scenarios/import/imported.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/ascii.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/yaml_text.hpp"

namespace straggler {
namespace {

constexpr std::size_t terminal_width = 80;

/// In lines of at most `terminal_width` columns, of which those behind the first begin with `indent` blanks.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t width = end - at;
    if (at > 0 && column + 1 + width > terminal_width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (at > 0) {
      out += ' ';
      ++column;
    }
    out.append(text, at, width);
    column += width;
    at = end + 1;
  }
  return out;
}

/// The file's name without its ends.
std::string word_of(const GivenFile& file) {
  const std::string word = file.path().filename().string();
  return word.substr(0, word.find('.', 1));
}

/// The name of its folder; `otherwise`: it is in none.
std::string folder_of(const GivenFile& file, const std::string& otherwise) {
  std::error_code error;
  const std::filesystem::path whole = file.in_archive() ? file.path() : std::filesystem::absolute(file.path(), error).lexically_normal();
  const std::string folder = whole.parent_path().filename().string();
  return folder.empty() ? otherwise : folder;
}

std::string name_from(std::string word) {
  for (char& c : word)
    if (const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); !letter && !is_digit(c) && c != '-') c = '_';
  word.resize(std::min<std::size_t>(word.size(), 80));
  return word.empty() ? "imported" : word;
}

}  // namespace

std::string import_name(const GivenFile& file, std::initializer_list<std::string_view> plain) {
  const std::string word = word_of(file);
  return name_from(std::ranges::find(plain, word) != plain.end() ? folder_of(file, word) : word);
}

std::string import_name(const std::vector<GivenFile>& files, std::initializer_list<std::string_view> plain) {
  if (files.size() == 1) return import_name(files.front(), plain);
  return name_from(folder_of(files.front(), word_of(files.front())));
}

std::string yaml_word(const std::string& name) {
  const bool letter = (name.front() >= 'a' && name.front() <= 'z') || (name.front() >= 'A' && name.front() <= 'Z');
  return letter && name != "null" && name != "Null" && name != "NULL" ? name : yaml_quoted(name);
}

std::string on_one_line(std::string_view text) {
  std::string line = shown_text(text);
  for (char& c : line)
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  return line;
}

std::string option_name(const std::string& parameter) {
  std::string name = parameter;
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string import_text(const Imported& imported) {
  std::size_t width = 0;
  for (const auto& [label, sentence] : imported.said) width = std::max(width, label.size() + 2);
  std::string text, before;
  for (const auto& [label, sentence] : imported.said) {
    text += fmt::format("{:<{}}{}\n", label == before ? "" : label, width, wrapped(sentence, width));
    before = label;
  }
  return text;
}

}  // namespace straggler
