// Format `ranks`: tables by rank. Seconds of steps or of their parts as CSV.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "models/formats/reading.hpp"
#include "scenarios/import/import_format.hpp"
#include "scenarios/import/rank_rows.hpp"
#include "scenarios/import/timed_job.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"

namespace straggler::import_ranks {
namespace {

constexpr std::uintmax_t largest_table = 256 << 20;
constexpr std::size_t most_ranks = 1'000'000;
constexpr double all_alike = 0.01;  // relative: times of a step in which all wait for each other
constexpr double end_apart = 0.05;  // of the differences in waiting for data: ends of a step in which all wait for those who waited

/// Of a whole step, by its name.
bool is_whole(std::string_view column) {
  for (const char* begin : {"step", "seconds", "time", "duration", "iter", "elapsed", "total"})
    if (column.starts_with(begin)) return true;
  return false;
}

enum class Table { none, seconds, tracelens, scores, near };

Table table_of(std::string_view text) {
  if (is_tracelens(text)) return Table::tracelens;
  const std::vector<std::string> names = table_columns(text);
  if (is_pipeline_table(names)) return Table::none;
  if (!near_rank_table(text).empty()) return Table::near;
  if (is_matrix(names) || has_column(names, "rank")) return Table::seconds;
  return has_scores(text) ? Table::scores : Table::none;
}

bool recognizes(const FileStart& start) {
  return start.bytes.find('\0') == std::string_view::npos && !trimmed(start.bytes).starts_with('{') && table_of(start.bytes) != Table::none;
}

// --- seconds of steps and parts

/// Of a rank: its rows in order of their steps.
struct RankTimes {
  struct Row {
    std::int64_t step = 0;
    std::size_t line = 0;
    std::size_t at = 0;  // of its first value
  };
  std::vector<Row> rows;
  std::vector<double> values;  // seconds, [rows][columns]; NaN where the field is empty
};
using Ranks = std::map<std::int64_t, RankTimes>;

class Seconds {
 public:
  Seconds(const std::string& text, const GivenFile& file) : shown_(file.shown().string()), rows_(text, shown_) {
    job_.format = "ranks";
    job_.name = import_name(file, {"ranks", "steps"});
    job_.from = {file.path().filename().string()};
    const std::vector<std::string>& names = rows_.names();
    step_ = step_column(names);
    for (std::size_t c = 0; c < names.size(); ++c) {
      if (names[c] == "rank" || c == step_) continue;
      if (const std::optional<double> unit = unit_of_column(names[c])) {
        columns_.push_back({c, *unit});
        if (is_whole(names[c]) && whole_ == none) whole_ = columns_.size() - 1;
      }
    }
    find_groups(text);
  }

  Imported read() {
    while (rows_.next()) {
      Ranks& ranks = groups_[texts_ == none ? std::string() : std::string(rows_.text(texts_))];
      RankTimes& times = ranks[rows_.rank()];
      if (ranks.size() > most_ranks) refuse_table(shown_, "has more than a million ranks; give fewer");
      const std::optional<double> number = step_ < rows_.names().size() ? rows_.number(step_, -1e15) : std::nullopt;
      times.rows.push_back(
          {number ? std::llround(*number) : static_cast<std::int64_t>(times.rows.size()), rows_.line(), times.values.size()});
      for (const auto& [column, unit] : columns_) times.values.push_back(rows_.number(column, 0).value_or(NAN) * unit);
    }
    if (groups_.empty()) refuse_table(shown_, "has no row of times; give a row for each rank");
    for (auto& [group, ranks] : groups_) sort_rows(ranks);
    const Ranks& ranks = groups_.begin()->second;
    const bool whole = groups_.size() == 1 && whole_ != none && ranks.size() > 1;
    const bool waiting = whole && columns_.size() == 2 && is_waiting(rows_.names()[columns_[1 - whole_].first]);
    if (whole && (columns_.size() == 1 || waiting)) check_complete(ranks);
    const bool shared = waiting && ends_together(ranks);
    describe(shared);
    if (shared) return of_steps_and_waiting(ranks);
    if (waiting || (whole && columns_.size() == 1)) return of_steps(ranks, waiting ? 1 - whole_ : none);
    return figures(groups_.size() == 1 && columns_.size() == 1 && alike(ranks, 0));
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  static bool is_waiting(std::string_view column) {
    return column.find("data") != std::string_view::npos || column.find("wait") != std::string_view::npos ||
           column.find("load") != std::string_view::npos;
  }

  /// A column of words makes groups if a rank has several of them: a host does not.
  void find_groups(const std::string& text) {
    std::vector<std::size_t> words;
    for (std::size_t c = 0; c < rows_.names().size(); ++c)
      if (rows_.names()[c] != "rank" && c != step_ && std::ranges::find(columns_, c, &Column::first) == columns_.end()) words.push_back(c);
    if (words.empty()) return;
    std::vector<std::map<std::int64_t, std::string>> seen(words.size());
    std::vector<bool> several(words.size(), false), numbers(words.size(), true);
    RankRows rows(text, shown_);
    while (rows.next())
      for (std::size_t w = 0; w < words.size(); ++w) {
        const std::string_view word = rows.text(words[w]);
        numbers[w] = numbers[w] && (word.empty() || as_number(word));
        const auto [at, fresh] = seen[w].try_emplace(rows.rank(), word);
        several[w] = several[w] || (!fresh && at->second != word);
      }
    std::vector<std::string> passed;
    for (std::size_t w = 0; w < words.size(); ++w) {
      if (texts_ == none && several[w] && !numbers[w])
        texts_ = words[w];
      else
        passed.push_back(on_one_line(rows_.names()[words[w]]));
    }
    if (!passed.empty())
      job_.said.emplace_back("passed over", fmt::format("column{} {}", passed.size() == 1 ? "" : "s", some_of(passed, 4)));
  }

  void sort_rows(Ranks& ranks) const {
    for (auto& [rank, times] : ranks) {
      std::ranges::stable_sort(times.rows, {}, &RankTimes::Row::step);
      const auto twice = std::ranges::adjacent_find(times.rows, {}, &RankTimes::Row::step);
      if (twice != times.rows.end())
        refuse_table(shown_, fmt::format("line {}: gives rank {} in step {} again, after line {}; leave one out", (twice + 1)->line, rank,
                                         twice->step, twice->line));
    }
  }

  /// Each rank has all columns in the same steps.
  void check_complete(const Ranks& ranks) const {
    const bool numbered = step_ < rows_.names().size();
    std::set<std::int64_t> steps;
    for (const auto& [rank, times] : ranks)
      for (const RankTimes::Row& row : times.rows) steps.insert(row.step);
    for (const auto& [rank, times] : ranks) {
      std::size_t at = 0;
      for (const std::int64_t step : steps) {
        if (at == times.rows.size() || times.rows[at].step != step)
          refuse_table(shown_, numbered ? fmt::format("has no row of rank {} in step {}; add it, or leave the step out", rank, step)
                                        : fmt::format("has {} row{} of rank {} and {} of another; give as many of each", times.rows.size(),
                                                      times.rows.size() == 1 ? "" : "s", rank, steps.size()));
        for (std::size_t c = 0; c < columns_.size(); ++c)
          if (std::isnan(times.values[times.rows[at].at + c]))
            refuse_table(shown_, fmt::format("line {}: has no {}; write it, or leave the step out", times.rows[at].line,
                                             on_one_line(rows_.names()[columns_[c].first])));
        ++at;
      }
    }
  }

  /// Seconds of a column, in order of steps.
  std::vector<double> column_of(const RankTimes& times, std::size_t c) const {
    std::vector<double> all;
    for (const RankTimes::Row& row : times.rows)
      if (const double value = times.values[row.at + c]; !std::isnan(value)) all.push_back(value);
    return all;
  }
  double mean_in(const RankTimes& times, std::size_t c) const {
    const std::vector<double> all = column_of(times, c);
    return all.empty() ? NAN : mean_seconds(all);
  }
  bool alike(const Ranks& ranks, std::size_t column) const {
    double least = INFINITY, most = 0;
    for (const auto& [rank, times] : ranks) {
      const double mean = mean_in(times, column);
      if (std::isnan(mean)) continue;
      least = std::min(least, mean);
      most = std::max(most, mean);
    }
    return most > 0 && most - least < all_alike * most;
  }

  /// Whether both columns together are the same on all ranks in each step, as far as those differ that waited for data: then ranks wait for
  /// each other in the rest of a step. Else the rest is each rank's own work.
  bool ends_together(const Ranks& ranks) const {
    for (std::size_t s = 0; s < ranks.begin()->second.rows.size(); ++s) {
      double least = INFINITY, most = 0, prompt = INFINITY, late = 0;
      for (const auto& [rank, times] : ranks) {
        const double data = times.values[times.rows[s].at + 1 - whole_], sum = data + times.values[times.rows[s].at + whole_];
        least = std::min(least, sum), most = std::max(most, sum);
        prompt = std::min(prompt, data), late = std::max(late, data);
      }
      if (most - least > std::max(all_alike * most, end_apart * (late - prompt))) return false;
    }
    return true;
  }

  /// The range of each column over the ranks, in each group. `shared`: ranks wait for each other in the whole step's column.
  void describe(bool shared) {
    Json parts = Json::array();
    for (const auto& [group, ranks] : groups_)
      for (std::size_t column = 0; column < columns_.size(); ++column) {
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
        const std::string& name = rows_.names()[columns_[column].first];
        parts.push_back({{"group", group.empty() ? Json() : Json(on_one_line(group))},
                         {"part", on_one_line(name)},
                         {"seconds", std::move(by_rank)},
                         {"most_rank", most->second},
                         {"least_rank", least->second},
                         {"more_s", most->first - least->first},
                         {"times", least->first > 0 ? Json(most->first / least->first) : Json()}});
        const bool same = most->first - least->first < all_alike * most->first;
        if (job_.said.size() < 8)
          job_.said.emplace_back(
              group.empty() ? "part" : on_one_line(group),
              same ? fmt::format("{}: the same on all ranks, {} (within {})", on_one_line(name), readable_seconds(most->first),
                                 readable_share(1 - least->first / most->first))
                   : fmt::format("{}: rank {} has {} more than rank {} ({} and {}){}", on_one_line(name), most->second,
                                 readable_seconds(most->first - least->first), least->second, readable_seconds(most->first),
                                 readable_seconds(least->first),
                                 shared && column == whole_ ? ": it waits in it for the others; the rank with least is late" : ""));
      }
    job_.facts["parts"] = std::move(parts);
  }

  void renumber(const Ranks& ranks) {
    job_.workers = static_cast<std::int64_t>(ranks.size());
    if (ranks.rbegin()->first + 1 != job_.workers) {
      job_.missing.push_back(fmt::format("ranks between {} and {} that are not in the table", ranks.begin()->first, ranks.rbegin()->first));
      std::vector<std::int64_t> numbers;
      for (const auto& [rank, times] : ranks) numbers.push_back(rank);
      job_.facts["workers_are_ranks"] = numbers;
      job_.assumed.emplace_back("the ranks of the table are all there are: workers are numbered in their order");
    }
  }

  /// Seconds of a step of each rank, before it waits for the others. `data`: the column of its waiting for data, which comes on top.
  Imported of_steps(const Ranks& ranks, std::size_t data) {
    renumber(ranks);
    const std::size_t steps = ranks.begin()->second.rows.size();
    job_.steps.assign(steps, 0);
    std::vector<double> least(steps, INFINITY), most(steps, 0);
    std::vector<std::vector<double>> sums;  // [ranks][steps]
    for (const auto& [rank, times] : ranks) {
      const std::vector<double> seconds = column_of(times, whole_);
      std::vector<double>& sum = sums.emplace_back(seconds);
      if (data != none) std::ranges::transform(sum, column_of(times, data), sum.begin(), std::plus());
      for (std::size_t s = 0; s < steps; ++s) {
        job_.steps[s] = std::max(job_.steps[s], sum[s]);
        least[s] = std::min(least[s], seconds[s]), most[s] = std::max(most[s], seconds[s]);
      }
    }
    bool same = true;
    for (std::size_t s = 0; s < steps; ++s) same = same && most[s] - least[s] <= all_alike * most[s];
    if (same)
      job_.missing.push_back(
          fmt::format("who is slow: {} is the same on all ranks in each step, within 1 %. Either no rank is, or the times contain waiting "
                      "for the others{}; "
                      "give the times before ranks wait",
                      on_one_line(rows_.names()[columns_[whole_].first]), data == none ? "" : " and for data"));
    job_.step = mean_seconds(job_.steps);
    job_.what = fmt::format("a table of step times of {} ranks", ranks.size());
    job_.where = fmt::format("mean of {} step{}", steps, steps == 1 ? "" : "s");
    bool varies = false;
    for (const auto& [rank, times] : ranks) {
      const std::vector<double>& sum = sums[job_.ranks.size()];
      TimedRank each;
      each.rank = static_cast<std::int64_t>(job_.ranks.size());
      each.called = rank;
      // A loader takes as long in each step: what comes on top in some of them varies with computing, half of which is left in each.
      const double waits = data == none ? 0 : mean_in(times, data);
      each.loader = std::min(waits, std::max(0.0, *std::ranges::min_element(sum) - mean_in(times, whole_) / 2));
      varies = varies || each.loader < waits;
      const double work = mean_seconds(sum) - each.loader;
      each.forward = work / 3;
      each.backward = work - each.forward;
      each.wait = std::max(0.0, job_.step - mean_seconds(sum));
      each.works = sum;
      job_.ranks.push_back(each);
    }
    if (varies) job_.assumed.emplace_back("waiting for data that comes in some steps alone is computing that varies");
    if (steps > 1) {
      std::vector<std::vector<double>> work = sums;
      for (std::size_t r = 0; r < work.size(); ++r)
        for (double& seconds : work[r]) seconds -= job_.ranks[r].loader;
      job_.jitter = step_factors(work);
    }
    if (data != none) say_sum(data, "the sum differs by rank, so no rank waits for another in either");
    return finish("times are those of each rank's own work, before it waits for the others");
  }

  void say_sum(std::size_t data, const char* why) {
    const auto name = [this](std::size_t c) { return on_one_line(rows_.names()[columns_[c].first]); };
    job_.said.emplace_back(
        "added", fmt::format("a step is {0} and {1} together: {0} is taken to be without {1}; {2}", name(whole_), name(data), why));
  }

  /// A step that is the same for all, and each rank's waiting for data in it.
  Imported of_steps_and_waiting(const Ranks& ranks) {
    const std::size_t waiting = 1 - whole_;
    double least = INFINITY;
    for (const auto& [rank, times] : ranks) least = std::min(least, mean_in(times, whole_));
    // The rank that waits longest for data does not wait for others in the rest of its step.
    renumber(ranks);
    job_.step = 0;
    for (const auto& [rank, times] : ranks) job_.step = std::max(job_.step, mean_in(times, whole_) + mean_in(times, waiting));
    for (std::size_t s = 0; s < ranks.begin()->second.rows.size(); ++s) {
      job_.steps.push_back(0);
      for (const auto& [rank, times] : ranks) {
        const std::size_t at = times.rows[s].at;
        job_.steps.back() = std::max(job_.steps.back(), times.values[at] + times.values[at + 1]);
      }
    }
    job_.what = fmt::format("a table of steps and waiting for data of {} ranks", ranks.size());
    job_.where = "mean of its rows";
    std::int64_t worker = 0;
    for (const auto& [rank, times] : ranks) {
      TimedRank each;
      each.rank = worker++;
      each.called = rank;
      each.loader = mean_in(times, waiting);
      each.forward = least / 3;
      each.backward = least - each.forward;
      each.wait = std::max(0.0, mean_in(times, whole_) - least);
      job_.ranks.push_back(each);
    }
    job_.facts["without_waiting_for_data_s"] = least;
    say_sum(waiting, "the sum is the same on all ranks, so they wait for each other in the former");
    job_.said.emplace_back(
        "data", fmt::format("without waiting for it a step takes {}, {:.3g} times less", readable_seconds(least), job_.step / least));
    return finish("the rest of a step takes what it takes on the rank that waits least for others in it");
  }

  Imported finish(const char* assumed) {
    job_.assumed.emplace_back(assumed);
    job_.assumed.emplace_back("a third of computing is forward; what is exchanged takes no time of its own");
    job_.missing.emplace_back("what the ranks exchange: the table has times alone");
    job_.facts["exchange"] = false;
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
      std::int64_t least = 0;
      double seconds = INFINITY;
      for (const auto& [rank, times] : groups_.begin()->second)
        if (mean_in(times, 0) < seconds) {
          seconds = mean_in(times, 0);
          least = rank;
        }
      missing.push_back(fmt::format(
          "who is slow cannot be told from this table: {} is the same on all ranks, since each waits in it for the others; rank "
          "{} has the least, by less than 1 %",
          on_one_line(rows_.names()[columns_.front().first]), least));
      job_.facts["slow_rank"] = Json();
    }
    missing.push_back(fmt::format(
        "a job: {}; give a CSV with columns rank, step and seconds",
        groups_.size() > 1 ? fmt::format("column {} makes {} groups of its rows", on_one_line(rows_.names()[texts_]), groups_.size())
        : whole_ != none && groups_.begin()->second.size() < 2
            ? std::string("the table has one rank")
            : std::string("the table does not have each rank's seconds of a whole step alone")));
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
  using Column = std::pair<std::size_t, double>;        // with its unit
  std::vector<Column> columns_;                         // of times
  std::size_t whole_ = none, texts_ = none, step_ = 0;  // whole_: in columns_
  std::map<std::string, Ranks> groups_;
};

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
  if (const std::string near = near_rank_table(text); table_of(text) == Table::near) refuse_table(files.front().shown().string(), near);
  if (table_of(text) == Table::scores) return import_scores(files.front(), text);
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
