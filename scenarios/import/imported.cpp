#include "scenarios/import/imported.hpp"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace

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
