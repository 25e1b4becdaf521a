#include "scenarios/results/replaced.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <system_error>
#include <vector>

#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/writer.hpp"
#include "scenarios/schema/yaml_tree.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace fs = std::filesystem;

namespace {

using Settings = std::map<std::string, std::string>;  // by path

void add_settings(const YamlNode& node, const std::string& path, Settings& all) {
  if (node.items.empty()) all[path] = node.type == YamlNode::Type::scalar ? node.text : "none";
  for (std::size_t i = 0; i < node.items.size(); ++i)
    add_settings(node.items[i],
                 node.type == YamlNode::Type::map ? (path.empty() ? "" : path + ".") + node.keys[i].name : fmt::format("{}[{}]", path, i),
                 all);
}

Settings settings_of(const std::string& text) {
  const Places places({"scenario.yaml"});
  Problems problems(places);
  Settings all;
  if (const auto root = parse_yaml(text, 0, problems)) add_settings(*root, "", all);
  return all;
}

/// As it is, or in quotes if a terminal could take it for something else, or if it is long.
std::string shown_setting(const std::string& text) {
  const bool plain = text.size() <= 40 && std::ranges::all_of(text, [](char c) { return c > 0x1f && c < 0x7f; });
  return plain ? text : in_quotes(text);
}

/// "seed 1 (now 2), training.scheme.kind asgd (now ssgd) and 3 more"
std::string differences(const Settings& before, const Settings& now) {
  constexpr std::size_t most = 3;
  std::vector<std::string> all;
  const auto text_at = [](const Settings& settings, const std::string& path) {
    const auto at = settings.find(path);
    return at == settings.end() ? std::string("none") : at->second;
  };
  Settings paths = before;
  paths.insert(now.begin(), now.end());
  for (const auto& [path, text] : paths) {
    const std::string old_text = text_at(before, path), new_text = text_at(now, path);
    if (old_text != new_text)
      all.push_back(fmt::format("{} {} (now {})", shown_setting(path), shown_setting(old_text), shown_setting(new_text)));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) text += (i == 0 ? "" : ", ") + all[i];
  if (all.size() > most) text += fmt::format(" and {} more", all.size() - most);
  return text;
}

std::string written_at(const fs::path& file) {
  struct stat facts {};
  std::tm local{};
  if (::stat(file.c_str(), &facts) != 0 || ::localtime_r(&facts.st_mtime, &local) == nullptr) return "unknown time";
  return fmt::format("{:%Y-%m-%d %H:%M}", local);
}

}  // namespace

std::string replaced_results(const fs::path& folder, const Scenario& scenario, bool timing_only) {
  std::error_code error;
  if (!fs::exists(folder / "summary.json", error)) return {};
  constexpr std::size_t most = 16 << 20;
  const std::string before = read_file(folder / "scenario.yaml", most).text, now = write_scenario(scenario);
  std::string what = before == now ? std::string() : differences(settings_of(before), settings_of(now));
  if (const bool trained = fs::exists(folder / "model.safetensors", error); trained == timing_only)
    what += std::string(what.empty() ? "" : ", ") + (trained ? "trained (now timing alone)" : "timing alone (now trained)");
  if (what.empty()) return {};
  const Settings held = settings_of(before);
  const auto name = held.find("name");
  return fmt::format("{}: replaces the results of {} of {}, which had other settings: {}", folder.string(),
                     in_quotes(name == held.end() ? "?" : name->second), written_at(folder / "summary.json"), what);
}

}  // namespace straggler
