#include "sim/base/screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "sim/base/text_lines.hpp"

namespace straggler {

namespace {

/// The byte after `columns` characters of `text` from `at`, or the end.
std::size_t after_columns(std::string_view text, std::size_t at, std::size_t columns) {
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (begins && columns-- == 0) break;
  }
  return at;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// Where continued lines begin. None: a row of a table.
struct Hang {
  std::size_t columns = 0;
  bool table = false;
};

Hang hang_of(std::string_view line, std::size_t width) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  Hang hang{begin + 2};
  std::size_t columns = 1;
  for (std::size_t at = begin; (at = line.find("  ", at)) != std::string_view::npos;) {
    at = std::min(line.find_first_not_of(' ', at), line.size());
    if (at == line.size()) break;
    ++columns;
    const std::size_t place = columns_of(line.substr(0, at));
    if (3 * place <= 2 * width) hang.columns = place;
  }
  constexpr std::size_t of_table = 5;
  hang.table = columns >= of_table;
  return hang;
}

}  // namespace

std::size_t terminal_width(std::FILE* to) {
  winsize size{};
  const int file = ::fileno(to);
  if (file < 0 || ::isatty(file) == 0) return 0;
  return ::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

std::string wrapped(std::string_view text, std::size_t width) {
  if (width == 0) return std::string(text);
  std::string out;
  TextLines lines(text);
  for (std::string_view line; lines.next(line); out += '\n') {
    const Hang hang = hang_of(line, width);
    std::size_t indent = 0;
    while (!hang.table && indent + columns_of(line) > width) {
      const std::size_t first = indent == 0 ? std::min(line.find_first_not_of(' '), line.size()) : 0;
      const std::size_t last = after_columns(line, 0, width - indent);
      std::size_t at = line.rfind(' ', last);
      const std::size_t least = indent == 0 ? after_columns(line, 0, hang.columns) : 0;
      if (at == std::string_view::npos || at <= std::max(first, least)) at = line.find(' ', std::max({last, first, least}));  // a long word
      if (at == std::string_view::npos) break;
      const std::size_t end = line.find_last_not_of(' ', at), next = line.find_first_not_of(' ', at);
      out.append(indent, ' ').append(line.substr(0, end + 1));
      indent = hang.columns;
      line = next == std::string_view::npos ? std::string_view() : line.substr(next);
      if (line.empty()) break;
      out += '\n';
    }
    if (!line.empty()) out.append(indent, ' ').append(line);
  }
  if (!text.empty() && text.back() != '\n' && !out.empty()) out.pop_back();
  return out;
}

}  // namespace straggler
