#include "scenarios/schema/errors.hpp"

#include <algorithm>
#include <utility>

namespace straggler {

namespace {
constexpr std::size_t most_lines = 100;

std::string below_each_other(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += (all.empty() ? "" : "\n") + line;
  return all;
}
}  // namespace

ScenarioErrors::ScenarioErrors(std::vector<std::string> all) : std::runtime_error(below_each_other(all)), lines(std::move(all)) {}

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

std::string Places::line(Place place, std::string_view path, std::string_view what) const {
  std::string out;
  if (place.source == 0) {
    out = sources_.at(0);
    if (place != whole_file) out += ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
  } else {
    out = "--set " + sources_.at(static_cast<std::size_t>(place.source));
  }
  out += ": ";
  if (!path.empty()) {
    out += path;
    out += ": ";
  }
  out += what;
  return out;
}

void Problems::add(Place place, std::string_view path, std::string_view what) {
  found_.push_back({place, places_.line(place, path, what)});
}

void Problems::raise() const {
  if (found_.empty()) return;
  std::vector<Problem> sorted = found_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) { return a.place < b.place; });
  std::vector<std::string> lines;
  for (const Problem& problem : sorted) {
    if (std::find(lines.begin(), lines.end(), problem.line) != lines.end()) continue;  // an alias read twice
    if (lines.size() == most_lines) {
      lines.push_back(places_.line(problem.place, "scenario", "there are more errors than these; correct them first"));
      break;
    }
    lines.push_back(problem.line);
  }
  throw ScenarioErrors(std::move(lines));
}

}  // namespace straggler
