#include "scenarios/race/flow_list.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/base/text_lines.hpp"

namespace straggler {

std::vector<std::string> split_flow_list(const std::string& list) {
  std::vector<std::string> parts{""};
  int depth = 0;
  char quote = 0;
  for (const char c : list) {
    if (quote != 0)
      quote = c == quote ? '\0' : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '{' || c == '[')
      ++depth;
    else if (c == '}' || c == ']')
      --depth;
    if (c == ',' && depth == 0 && quote == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

LabelledText split_label(const std::string& item) {
  const std::size_t equals = item.find('=');
  if (equals == std::string::npos || equals > item.find_first_of("{\"'")) return {std::nullopt, item};
  const std::string_view text = item;
  return {std::string(trimmed(text.substr(0, equals))), std::string(trimmed(text.substr(equals + 1)))};
}

YamlNode parse_flow(const std::string& text) {
  const Places places({"", text});
  Problems problems(places);
  std::optional<YamlNode> node = parse_yaml(text, 1, problems);
  try {
    problems.raise();
  } catch (const ScenarioErrors& errors) {
    throw std::invalid_argument(errors.problems.front().about());  // the caller names the text
  }
  return std::move(*node);
}

}  // namespace straggler
