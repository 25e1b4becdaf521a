#include "scenarios/schema/errors.hpp"

#include <algorithm>
#include <set>
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
}  // namespace

Problem::Problem(std::string_view text) {
  const std::size_t end = text.find(between);
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

ScenarioErrors::ScenarioErrors(std::vector<Problem> all) : std::runtime_error(below_each_other(all)), problems(std::move(all)) {}

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

Place Places::find(std::string_view path) const {
  for (;;) {
    if (const auto at = by_path_.find(path); at != by_path_.end()) return at->second;
    const std::size_t end = path.find_last_of(".[");
    if (end == std::string_view::npos) return {};
    path = path.substr(0, end);
  }
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
