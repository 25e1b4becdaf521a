#include "scenarios/report/run_keys.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "scenarios/report/axis_title.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

std::vector<std::pair<std::string, std::string>> settings_of_text(const std::string& scenario) {
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::pair<std::size_t, std::string>> open;  // indentation, path
  std::map<std::string, std::size_t> items;               // of lists
  TextLines lines(scenario);
  for (std::string_view line; lines.next(line);) {
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos || line[indent] == '#') continue;
    while (!open.empty() && open.back().first >= indent) open.pop_back();
    const std::string before = open.empty() ? std::string() : open.back().second;
    std::string_view rest = line.substr(indent);
    if (rest.starts_with("- ")) {
      settings.emplace_back(before + "[" + std::to_string(items[before]++) + "]", rest.substr(2));
      continue;
    }
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string path = (before.empty() ? before : before + ".") + std::string(rest.substr(0, colon));
    rest.remove_prefix(colon + 1);
    const std::size_t value = rest.find_first_not_of(' ');
    if (value == std::string_view::npos)
      open.emplace_back(indent, path);
    else
      settings.emplace_back(path, rest.substr(value));
  }
  return settings;
}

std::vector<std::vector<std::pair<std::string, std::string>>> run_keys(const std::vector<std::string>& scenarios, std::size_t most) {
  std::vector<std::map<std::string, std::string>> runs;
  std::vector<std::string> paths;
  for (const std::string& text : scenarios) {
    runs.emplace_back();
    for (const auto& [path, value] : settings_of_text(text)) {
      if (path == "name" || path == "seed") continue;
      runs.back()[path] = value;
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
    }
  }
  std::vector<std::vector<std::pair<std::string, std::string>>> keys(runs.size());
  std::set<std::string> titles;
  for (const std::string& path : paths) {
    std::vector<std::string> values;
    for (const auto& run : runs) {
      const auto at = run.find(path);
      values.push_back(at == run.end() ? "\u2013" : at->second);
    }
    const std::size_t different = std::set<std::string>(values.begin(), values.end()).size();
    const std::string title = axis_title(path);
    if (different < 2 || different == runs.size() || titles.size() == most || !titles.insert(title).second) continue;
    for (std::size_t run = 0; run < runs.size(); ++run) keys[run].emplace_back(title, values[run]);
  }
  return keys;
}

}  // namespace straggler
