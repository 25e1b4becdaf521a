// What a reader sees of a page.
#pragma once
#include <cstddef>
#include <string>

#include "tests/support/text.hpp"

namespace straggler::test {

/// The rows of a page's tables, a line each, cells between bars: "| fast | 1 | 10.2 s |".
inline std::string table_rows(const std::string& page) {
  const std::string text = shown(page);
  std::string rows;
  for (std::size_t at = text.find("<tr"); at != std::string::npos; at = text.find("<tr", at)) {
    const std::size_t end = text.find("</tr>", at);
    if (end == std::string::npos) break;
    rows += "|";
    for (; at < end; ++at) {
      if (text[at] != '<') continue;
      const std::size_t close = text.find('>', at);
      const bool cell_ends = text.compare(at, 5, "</td>") == 0 || text.compare(at, 5, "</th>") == 0;
      if (cell_ends) {
        rows += " |";
      } else {
        const std::size_t next = text.find('<', close);
        const std::string words = text.substr(close + 1, next - close - 1);
        if (!words.empty() && words.find_first_not_of(" \n") != std::string::npos) rows += " " + words;
      }
      at = close;
    }
    rows += "\n";
  }
  return rows;
}

}  // namespace straggler::test
