// How deeply JSON nests, found without parsing it: a parser's tree of brackets takes dozens of bytes for each, and printing it recurses.
#pragma once
#include <cstddef>
#include <string_view>

namespace straggler {

/// No file of this program nests deeper.
inline constexpr std::size_t deepest_json = 30;

/// True: more than `deepest` lists and maps are open at once. Says nothing about whether the text is JSON.
inline bool nests_deeper(std::string_view json, std::size_t deepest = deepest_json) {
  std::size_t open = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{') && ++open > deepest)
      return true;
    else if (!quoted && (c == ']' || c == '}') && open > 0)
      --open;
  }
  return false;
}

}  // namespace straggler
