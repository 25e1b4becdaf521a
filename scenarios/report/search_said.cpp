#include "scenarios/report/search_said.hpp"

#include <algorithm>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/search_words.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); !from.empty() && at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// "PATH=VALUE" becomes "title VALUE"; longer paths first, since one may begin another.
std::string in_words(std::string line, const SearchAnswer& answer) {
  std::vector<std::string> paths = answer.axes;
  for (const SearchedSetting& setting : answer.over) paths.push_back(setting.path);
  paths.push_back(answer.along.path);
  std::stable_sort(paths.begin(), paths.end(), [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    replace_all(line, path + "=", axis_title(path) + " ");
    replace_all(line, path, axis_title(path));
  }
  replace_all(line, answer.metric, metric_title(answer.metric));
  replace_all(line, "+-", "\u00b1");
  const std::string text(trimmed(line));
  // A name keeps its case.
  const bool named = std::ranges::any_of(answer.between, [&](const std::string& name) { return text.starts_with(name + " "); });
  return named ? text : capital(text);
}

}  // namespace

std::vector<std::string> said_in_words(const SearchAnswer& answer) {
  std::vector<std::string> entries;
  TextLines lines(answer.said);
  for (std::string_view line; lines.next(line);) {
    const bool goes_on = line.starts_with(' ') && !entries.empty();
    const std::string words = in_words(std::string(line), answer) + ".";
    if (goes_on)
      entries.back() += " " + words;
    else
      entries.push_back(words);
  }
  return entries;
}

}  // namespace straggler
