#include "scenarios/report/axis_title.hpp"

#include <vector>

namespace straggler {

std::string axis_title(const std::string& path) {
  std::vector<std::string> parts(1);
  bool inside = false;  // of [0]
  for (const char c : path) {
    if (c == '[') inside = true;
    if (c == '.')
      parts.emplace_back();
    else if (!inside)
      parts.back() += c == '_' ? ' ' : c;
    if (c == ']') inside = false;
  }
  std::string last = parts.back(), before = parts.size() > 1 ? parts[parts.size() - 2] : std::string();
  if (before.empty()) return last;
  if (last == "count" || last == "kind") return before;
  for (const char* vague : {"per worker", "global", "every", "bits", "share"})
    if (last == vague) return before.append(" ").append(last);
  return last;
}

}  // namespace straggler
