// Format `ranks`: tables by rank. Seconds of steps or of their parts as CSV; TraceLens' collectives by rank; scores of NVRx.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "scenarios/import/import_format.hpp"
#include "scenarios/import/rank_rows.hpp"
#include "scenarios/import/timed_job.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::import_ranks {
namespace {

constexpr std::uintmax_t largest_table = 256 << 20;
constexpr std::size_t most_ranks = 1'000'000;
constexpr double all_alike = 0.01;  // relative: times of a step in which all wait for each other

/// "input_wait_ms" is in milliseconds; a name without a unit is in seconds if it says that it is a time.
std::optional<double> unit_of(std::string_view column) {
  for (const auto& [end, seconds] : {std::pair("_ms", 1e-3), std::pair("_us", 1e-6), std::pair("_s", 1.0), std::pair("_sec", 1.0),
                                     std::pair("_seconds", 1.0), std::pair("(ms)", 1e-3), std::pair("(s)", 1.0), std::pair("(us)", 1e-6)})
    if (column.ends_with(end)) return seconds;
  for (const char* name : {"seconds", "time", "duration", "step_time", "data_time", "elapsed"})
    if (column == name) return 1.0;
  return column.ends_with("_time") ? std::optional(1.0) : std::nullopt;
}

/// Of a whole step, by its name.
bool is_whole(std::string_view column) {
  for (const char* begin : {"step", "seconds", "time", "duration", "iteration", "elapsed", "total"})
    if (column.starts_with(begin)) return true;
  return false;
}

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

enum class Table { none, seconds, tracelens, scores };

Table table_of(std::string_view text) {
  if (is_tracelens(text)) return Table::tracelens;
  const std::vector<std::string> names = table_columns(text);
  if (is_matrix(names)) return Table::seconds;
  if (has_column(names, "rank") && std::ranges::any_of(names, [](const std::string& name) { return unit_of(name).has_value(); }))
    return Table::seconds;
  TextLines lines(text);
  for (std::string_view line; lines.next(line);)
    if (score_of(line)) return Table::scores;
  return Table::none;
}

bool recognizes(const FileStart& start) {
  return start.bytes.find('\0') == std::string_view::npos && !trimmed(start.bytes).starts_with('{') && table_of(start.bytes) != Table::none;
}

// --- seconds of steps and parts

/// Of a rank, over its rows: the seconds of each column.
struct RankTimes {
  std::map<std::size_t, std::vector<double>> by_column;
  std::vector<std::int64_t> steps;  // of the whole-step column's rows
};

class Seconds {
 public:
  Seconds(const std::string& text, const GivenFile& file) : shown_(file.shown().string()), rows_(text, shown_) {
    job_.format = "ranks";
    job_.name = import_name(file, {"ranks", "steps"});
    job_.from = {file.path().filename().string()};
    for (std::size_t c = 0; c < rows_.names().size(); ++c) {
      const std::string& name = rows_.names()[c];
      if (name == "rank" || name == "step") continue;
      if (const std::optional<double> unit = unit_of(name)) {
        columns_.push_back({c, *unit});
        if (is_whole(name) && whole_ == none) whole_ = c;
      } else if (texts_ == none) {
        texts_ = c;
      }
    }
  }

  Imported read() {
    const std::size_t step = rows_.column("step");
    while (rows_.next()) {
      std::map<std::int64_t, RankTimes>& ranks = groups_[texts_ == none ? std::string() : std::string(rows_.text(texts_))];
      RankTimes& times = ranks[rows_.rank()];
      if (ranks.size() > most_ranks) refuse_table(shown_, "has more than a million ranks; give fewer");
      for (const auto& [column, unit] : columns_)
        if (const std::optional<double> value = rows_.number(column, 0)) times.by_column[column].push_back(*value * unit);
      if (step < rows_.names().size())
        if (const std::optional<double> number = rows_.number(step, -1e15)) times.steps.push_back(std::llround(*number));
    }
    if (groups_.empty()) refuse_table(shown_, "has no row of times; give a row for each rank");
    describe();
    const std::map<std::int64_t, RankTimes>& ranks = groups_.begin()->second;
    if (groups_.size() == 1 && whole_ != none && ranks.size() > 1 && complete(ranks)) {
      if (columns_.size() == 1) return of_steps(ranks);
      if (columns_.size() == 2) return of_steps_and_waiting(ranks);
    }
    return figures(groups_.size() == 1 && columns_.size() == 1 && alike(ranks, columns_.front().first));
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  static double mean_in(const RankTimes& times, std::size_t column) {
    const auto found = times.by_column.find(column);
    return found == times.by_column.end() ? std::nan("") : mean_seconds(found->second);
  }
  /// Each rank has each column, equally often.
  bool complete(const std::map<std::int64_t, RankTimes>& ranks) const {
    const std::size_t count = ranks.begin()->second.by_column.empty() ? 0 : ranks.begin()->second.by_column.begin()->second.size();
    return count > 0 && std::ranges::all_of(ranks, [&](const auto& each) {
             return each.second.by_column.size() == columns_.size() &&
                    std::ranges::all_of(each.second.by_column, [count](const auto& column) { return column.second.size() == count; });
           });
  }
  static bool alike(const std::map<std::int64_t, RankTimes>& ranks, std::size_t column) {
    double least = INFINITY, most = 0;
    for (const auto& [rank, times] : ranks) {
      const double mean = mean_in(times, column);
      if (std::isnan(mean)) continue;
      least = std::min(least, mean);
      most = std::max(most, mean);
    }
    return most > 0 && most - least < all_alike * most;
  }

  /// The range of each column over the ranks, in each group.
  void describe() {
    Json parts = Json::array();
    for (const auto& [group, ranks] : groups_)
      for (const auto& [column, unit] : columns_) {
        std::optional<std::pair<double, std::int64_t>> least, most;
        Json by_rank = Json::object();
        for (const auto& [rank, times] : ranks) {
          const double mean = mean_in(times, column);
          if (std::isnan(mean)) continue;
          by_rank[std::to_string(rank)] = mean;
          if (!least || mean < least->first) least = {mean, rank};
          if (!most || mean > most->first) most = {mean, rank};
        }
        if (!least) continue;
        const std::string& name = rows_.names()[column];
        parts.push_back({{"group", group.empty() ? Json() : Json(on_one_line(group))},
                         {"part", on_one_line(name)},
                         {"seconds", std::move(by_rank)},
                         {"most_rank", most->second},
                         {"least_rank", least->second},
                         {"more_s", most->first - least->first},
                         {"times", least->first > 0 ? Json(most->first / least->first) : Json()}});
        const bool same = most->first - least->first < all_alike * most->first;
        if (job_.said.size() < 8)
          job_.said.emplace_back(group.empty() ? "part" : on_one_line(group),
                                 same ? fmt::format("{}: the same on all ranks, {} (within {})", on_one_line(name),
                                                    readable_seconds(most->first), readable_share(1 - least->first / most->first))
                                      : fmt::format("{}: rank {} has {} more than rank {} ({} and {})", on_one_line(name), most->second,
                                                    readable_seconds(most->first - least->first), least->second,
                                                    readable_seconds(most->first), readable_seconds(least->first)));
      }
    job_.facts["parts"] = std::move(parts);
  }

  void renumber(const std::map<std::int64_t, RankTimes>& ranks) {
    job_.workers = static_cast<std::int64_t>(ranks.size());
    if (ranks.rbegin()->first + 1 != job_.workers) {
      job_.missing.push_back(fmt::format("ranks between {} and {} that are not in the table", ranks.begin()->first, ranks.rbegin()->first));
      std::vector<std::int64_t> numbers;
      for (const auto& [rank, times] : ranks) numbers.push_back(rank);
      job_.facts["workers_are_ranks"] = numbers;
      job_.assumed.emplace_back("the ranks of the table are all there are: workers are numbered in their order");
    }
  }

  /// Seconds of a step of each rank, before it waits for the others.
  Imported of_steps(const std::map<std::int64_t, RankTimes>& ranks) {
    if (alike(ranks, whole_)) return figures(true);
    renumber(ranks);
    const std::size_t steps = ranks.begin()->second.by_column.at(whole_).size();
    job_.steps.assign(steps, 0);
    for (const auto& [rank, times] : ranks)
      for (std::size_t s = 0; s < steps; ++s) job_.steps[s] = std::max(job_.steps[s], times.by_column.at(whole_)[s]);
    job_.step = mean_seconds(job_.steps);
    job_.what = fmt::format("a table of step times of {} ranks", ranks.size());
    job_.where = fmt::format("mean of {} step{}", steps, steps == 1 ? "" : "s");
    std::int64_t worker = 0;
    for (const auto& [rank, times] : ranks) {
      TimedRank each;
      each.rank = worker++;
      const std::vector<double>& seconds = times.by_column.at(whole_);
      each.forward = mean_seconds(seconds) / 3;
      each.backward = mean_seconds(seconds) - each.forward;
      double waits = 0;
      for (std::size_t s = 0; s < steps; ++s) waits += job_.steps[s] - seconds[s];
      each.wait = waits / static_cast<double>(steps);
      job_.ranks.push_back(each);
    }
    if (steps > 1) jitter(ranks, steps);
    return finish("times are those of each rank's own work, before it waits for the others");
  }

  /// Factors on each rank's mean, a row a step.
  void jitter(const std::map<std::int64_t, RankTimes>& ranks, std::size_t steps) {
    std::string csv;
    for (std::size_t s = 0; s < steps; ++s) {
      bool first = true;
      for (const auto& [rank, times] : ranks) {
        const std::vector<double>& seconds = times.by_column.at(whole_);
        const double mean = mean_seconds(seconds);
        csv +=
            (first ? "" : ",") + format_number(std::stod(fmt::format("{:.6g}", std::clamp(mean > 0 ? seconds[s] / mean : 0, 1e-6, 1e6))));
        first = false;
      }
      csv += '\n';
    }
    job_.jitter = std::move(csv);
  }

  /// A step that is the same for all, and each rank's waiting for data in it.
  Imported of_steps_and_waiting(const std::map<std::int64_t, RankTimes>& ranks) {
    const std::size_t waiting = columns_[0].first == whole_ ? columns_[1].first : columns_[0].first;
    const std::string& name = rows_.names()[waiting];
    if (name.find("data") == std::string::npos && name.find("wait") == std::string::npos && name.find("load") == std::string::npos)
      return figures(false);
    double least = INFINITY;
    for (const auto& [rank, times] : ranks) least = std::min(least, mean_in(times, whole_));
    // The rank that waits longest for data does not wait for others in the rest of its step.
    renumber(ranks);
    job_.step = 0;
    for (const auto& [rank, times] : ranks) job_.step = std::max(job_.step, mean_in(times, whole_) + mean_in(times, waiting));
    job_.steps = {job_.step};
    job_.what = fmt::format("a table of steps and waiting for data of {} ranks", ranks.size());
    job_.where = "mean of its rows";
    std::int64_t worker = 0;
    for (const auto& [rank, times] : ranks) {
      TimedRank each;
      each.rank = worker++;
      each.loader = mean_in(times, waiting);
      each.forward = least / 3;
      each.backward = least - each.forward;
      each.wait = std::max(0.0, mean_in(times, whole_) - least);
      job_.ranks.push_back(each);
    }
    job_.facts["without_waiting_for_data_s"] = least;
    job_.said.emplace_back(
        "data", fmt::format("without waiting for it a step takes {}, {:.3g} times less", readable_seconds(least), job_.step / least));
    return finish("the rest of a step takes what it takes on the rank that waits least for others in it");
  }

  Imported finish(const char* assumed) {
    job_.assumed.emplace_back(assumed);
    job_.assumed.emplace_back("a third of computing is forward; what is exchanged takes no time of its own");
    job_.missing.emplace_back("what the ranks exchange: the table has times alone");
    TimedBucket bucket;
    bucket.seconds = 0;
    job_.buckets = {bucket};
    job_.overlap = false;
    return imported_job(std::move(job_));
  }

  /// No job: what the columns say.
  Imported figures(bool cannot_tell) {
    Imported imported;
    imported.name = job_.name;
    imported.said = {{"table", fmt::format("times of {} ranks ({})", groups_.begin()->second.size(), job_.format)}};
    for (auto& line : job_.said) imported.said.push_back(line);
    std::vector<std::string> missing;
    if (cannot_tell) {
      const std::size_t column = columns_.front().first;
      std::int64_t least = 0;
      double seconds = INFINITY;
      for (const auto& [rank, times] : groups_.begin()->second)
        if (mean_in(times, column) < seconds) {
          seconds = mean_in(times, column);
          least = rank;
        }
      missing.push_back(fmt::format(
          "who is slow cannot be told from this table: {} is the same on all ranks, since each waits in it for the others; rank "
          "{} has the least, by less than 1 %",
          on_one_line(rows_.names()[column]), least));
      job_.facts["slow_rank"] = Json();
    }
    missing.emplace_back(
        "a job: the table does not have each rank's seconds of a whole step; give a CSV with columns rank, step and seconds");
    for (const std::string& sentence : missing) imported.said.emplace_back("missing", sentence);
    Json json{{"format", "ranks"}, {"yields", "figures"}, {"files", job_.from}};
    json.update(job_.facts);
    json["missing"] = missing;
    json["assumed"] = Json::array();
    imported.files = {{"import.json", json_document(json)}};
    return imported;
  }

  std::string shown_;
  RankRows rows_;
  TimedJob job_;
  std::vector<std::pair<std::size_t, double>> columns_;  // of times, with their units
  std::size_t whole_ = none, texts_ = none;
  std::map<std::string, std::map<std::int64_t, RankTimes>> groups_;
};

// --- NVRx

Imported read_scores(const GivenFile& file, const std::string& text) {
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
  for (const Json& section : sections) {
    const Json* worst = nullptr;
    for (const Json& rank : section["ranks"])
      if (!worst || rank["score"] < (*worst)["score"]) worst = &rank;
    if (worst && imported.said.size() < 6)
      imported.said.emplace_back("scores",
                                 fmt::format("{}: rank {} needs {} more time than the best",
                                             section["title"].is_string() ? section["title"].get<std::string>() : "scores",
                                             (*worst)["rank"].get<std::int64_t>(), readable_share((*worst)["slower"].get<double>())));
  }
  const std::vector<std::string> missing = {"a job: scores are relative, and say nothing about the step"};
  imported.said.emplace_back("missing", missing.front());
  const Json json{
      {"format", "ranks"},  {"yields", "figures"},     {"files", {file.path().filename().string()}}, {"scores", std::move(sections)},
      {"missing", missing}, {"assumed", Json::array()}};
  imported.files = {{"import.json", json_document(json)}};
  return imported;
}

Imported read(const std::vector<GivenFile>& files, const Parameters&) {
  std::vector<std::pair<const GivenFile*, std::string>> texts;
  bool all_tracelens = true;
  for (const GivenFile& file : files) {
    if (file.size() > largest_table) refuse_table(file.shown().string(), "has more than 256 MiB; give fewer steps");
    texts.emplace_back(&file, file.text(largest_table));
    const Table table = table_of(texts.back().second);
    all_tracelens = all_tracelens && table == Table::tracelens;
  }
  if (all_tracelens) return import_tracelens(texts);
  if (files.size() > 1) refuse_table(files.front().shown().string(), "and the others are tables of a job each; name one of them");
  std::string& text = texts.front().second;
  if (table_of(text) == Table::scores) return read_scores(files.front(), text);
  if (is_matrix(table_columns(text))) text = matrix_rows(text, files.front().shown().string());
  return Seconds(text, files.front()).read();
}

const Register<ImportFormat> ranks(ImportFormat{
    .name = "ranks",
    .summary = "a table by rank: seconds of steps (CSV), collectives (TraceLens), scores (NVRx)",
    .example = "a CSV with the columns rank, step and seconds",
    .yields = "a job",
    .parameters = {},
    .recognizes = recognizes,
    .read = read});

}  // namespace
}  // namespace straggler::import_ranks
