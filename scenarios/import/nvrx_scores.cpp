// Scores of NVRx: how much more time than another a rank needs, in one of format `ranks`' files.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/import/rank_rows.hpp"
#include "scenarios/results/json.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {
namespace {

/// "Rank=0 Node=node0 Score=0.95"
struct Score {
  std::int64_t rank = 0;
  std::string node;
  double score = 0;
};
std::optional<Score> score_of(std::string_view line) {
  const std::size_t rank = line.find("Rank="), score = line.find("Score=");
  if (rank == std::string_view::npos || score == std::string_view::npos || score < rank) return std::nullopt;
  const auto word = [&](std::size_t at) { return line.substr(at, std::min(line.find_first_of(" \t,", at), line.size()) - at); };
  const std::optional<std::int64_t> number = as_integer(word(rank + 5));
  const std::optional<double> value = as_number(word(score + 6));
  if (!number || *number < 0 || !value || !(*value > 0 && *value <= 1e6)) return std::nullopt;
  const std::size_t node = line.find("Node=");
  return Score{*number, node == std::string_view::npos ? std::string() : std::string(word(node + 5)), *value};
}

}  // namespace

bool has_scores(std::string_view text) {
  TextLines lines(text);
  for (std::string_view line; lines.next(line);)
    if (score_of(line)) return true;
  return false;
}

Imported import_scores(const GivenFile& file, const std::string& text) {
  Imported imported;
  imported.name = import_name(file, {});
  Json sections = Json::array();
  std::string title;
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    const std::optional<Score> score = score_of(line);
    if (!score) {
      if (trimmed(line).ends_with(':')) {
        title = trimmed(trimmed(line), ":");
        sections.push_back({{"title", on_one_line(title)}, {"ranks", Json::array()}});
      }
      continue;
    }
    if (sections.empty()) sections.push_back({{"title", Json()}, {"ranks", Json::array()}});
    sections.back()["ranks"].push_back(
        {{"rank", score->rank}, {"node", on_one_line(score->node)}, {"score", score->score}, {"slower", 1 / score->score - 1}});
  }
  for (Json& section : sections) {
    // "GPU individual performance" compares a rank with itself.
    const bool own = section["title"].is_string() && section["title"].get<std::string>().find("individual") != std::string::npos;
    section["than"] = own ? "own best" : "best";
    const Json* worst = nullptr;
    for (const Json& rank : section["ranks"])
      if (!worst || rank["score"] < (*worst)["score"]) worst = &rank;
    if (worst && imported.said.size() < 6)
      imported.said.emplace_back(
          "scores",
          fmt::format("{}: rank {} needs {} more time than {}",
                      section["title"].is_string() ? section["title"].get<std::string>() : "scores", (*worst)["rank"].get<std::int64_t>(),
                      readable_share((*worst)["slower"].get<double>()), own ? "its own best" : "the best rank"));
  }
  const std::vector<std::string> missing = {"a job: scores are relative, and say nothing about the step"};
  imported.said.emplace_back("missing", missing.front());
  const Json json{
      {"format", "ranks"},  {"yields", "figures"},     {"files", {file.path().filename().string()}}, {"scores", std::move(sections)},
      {"missing", missing}, {"assumed", Json::array()}};
  imported.files = {{"import.json", json_document(json)}};
  return imported;
}

}  // namespace straggler
