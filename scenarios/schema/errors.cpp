#include "scenarios/schema/errors.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>

namespace straggler {

namespace {
constexpr std::size_t most_problems = 100;
constexpr std::string_view between = "; ";

std::string below_each_other(const std::vector<Problem>& problems) {
  std::string all;
  for (const Problem& problem : problems) all += (all.empty() ? "" : "\n") + problem.line();
  return all;
}

/// The first "; " outside of quotes, which hold what a user wrote; npos: there is none.
std::size_t end_of_what(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'' && (quoted || i == 0 || text[i - 1] == ' ')) quoted = !quoted;
    if (!quoted && text.substr(i).starts_with(between)) return i;
  }
  return quoted ? text.find(between) : std::string_view::npos;  // an apostrophe, not a quote
}
}  // namespace

Problem::Problem(std::string_view text) {
  const std::size_t end = end_of_what(text);
  what = text.substr(0, end);
  if (end != std::string_view::npos) remedy = text.substr(end + between.size());
}

Problem::Problem(Place at, std::string of, std::string_view about, std::string_view text) : Problem(text) {
  place = at;
  source = std::move(of);
  path = about;
}

std::string Problem::text() const { return remedy.empty() ? what : what + std::string(between) + remedy; }

std::string Problem::about() const { return path.empty() ? text() : path + ": " + text(); }

std::string Problem::line() const {
  if (source.empty()) return about();
  if (place.source > 0) return "--set " + source + ": " + about();
  const std::string spot = place == whole_file ? "" : ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
  return source + spot + ": " + about();
}

ScenarioErrors::ScenarioErrors(std::vector<Problem> all) : Refusal(below_each_other(all)), problems(std::move(all)) {}

std::vector<std::string> ScenarioErrors::lines() const {
  std::vector<std::string> lines;
  for (const Problem& problem : problems) lines.push_back(problem.line());
  return lines;
}

Places::Places(std::vector<std::string> sources) : sources_(std::move(sources)) {
  constexpr std::size_t longest = 120;
  for (std::size_t i = 1; i < sources_.size(); ++i) {
    std::string& text = sources_[i];
    if (text.size() > longest) text = text.substr(0, longest) + "...";
    for (char& c : text)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
}

namespace {

/// The value below `node` that `path` leads to first; `path` then holds the rest. Null: none.
const YamlNode* step(const YamlNode& node, std::string_view& path) {
  if (path.starts_with('[')) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(path.data() + 1, path.data() + path.size(), index);
    if (error != std::errc() || node.type != YamlNode::Type::sequence || index >= node.items.size()) return nullptr;
    path = path.substr(std::min(path.size(), static_cast<std::size_t>(end - path.data()) + 1));
    return &node.items[index];
  }
  if (path.starts_with('.')) path.remove_prefix(1);
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const std::string& key = node.keys[i].name;
    if (!path.starts_with(key) || (path.size() > key.size() && path[key.size()] != '.' && path[key.size()] != '[')) continue;
    path.remove_prefix(key.size());
    return &node.items[i];
  }
  return nullptr;
}

}  // namespace

Place Places::find(std::string_view path) const {
  if (!root_) return {};
  Place nearest = path.empty() ? root_->place : Place{};
  for (const YamlNode* node = root_.get(); !path.empty();) {
    node = step(*node, path);
    if (!node) break;
    nearest = node->place;
  }
  return nearest;
}

Problem Places::problem(Place place, std::string_view path, std::string_view text) const {
  return {place, sources_.at(static_cast<std::size_t>(place.source)), path, text};
}

void Problems::raise() const {
  if (found_.empty()) return;
  std::vector<Problem> sorted = found_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) { return a.place < b.place; });
  std::set<std::string> said;
  std::vector<Problem> problems;
  for (Problem& problem : sorted) {
    if (!said.insert(problem.line()).second) continue;  // an alias read twice
    if (problems.size() == most_problems) {
      problems.push_back(places_.problem(problem.place, "scenario", "there are more errors than these; correct them first"));
      break;
    }
    problems.push_back(std::move(problem));
  }
  throw ScenarioErrors(std::move(problems));
}

}  // namespace straggler
