#include "scenarios/race/race_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/race/race_reasons.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/statistics/statistics.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string last_key(const std::string& path) { return path.substr(path.find_last_of('.') + 1); }

std::string times_table(const RaceOutcome& outcome) {
  Rows rows{{""}};
  bool widths = false;
  if (outcome.tuning)
    for (const std::string& path : outcome.tuning->paths) rows[0].push_back(last_key(path));
  for (std::size_t entrant = 0; entrant < outcome.entrants.size(); ++entrant) {
    rows.push_back({outcome.entrants[entrant].label});
    for (const std::string& value : outcome.chosen(entrant)) rows.back().push_back(value);
  }
  bool won = false;
  for (std::size_t i = 0; i < outcome.finishes.size(); ++i) {
    const Finish& finish = outcome.finishes[i];
    const std::optional<std::size_t> winner = outcome.verdicts[i].winner;
    won = won || winner;
    rows[0].push_back(finish_title(finish));
    const std::vector<RunValues> times = outcome.times(finish);
    for (std::size_t entrant = 0; entrant < times.size(); ++entrant) {
      const RepeatStatistics statistics = statistics_of(times[entrant]);
      widths = widths || statistics.count > 1;
      rows[entrant + 1].push_back((winner == entrant ? "* " : "") +
                                  mean_text(statistics, times[entrant].size(), outcome.by().text, {.missed = true, .zero_widths = true}));
    }
  }
  if (!outcome.endings().all_finished()) {
    rows[0].emplace_back("outcome");
    for (std::size_t entrant = 0; entrant < outcome.entrants.size(); ++entrant)
      rows[entrant + 1].push_back(Endings::of(outcome.runs[entrant]).outcomes());
  }
  return aligned(rows, 1) + (widths ? half_width_note : "") +
         (won ? fmt::format("* wins: {}{} than every other entrant\n", outcome.exact ? "" : "significantly ", outcome.by().better) : "");
}

std::string pairs_table(const RaceOutcome& outcome) {
  const std::vector<std::string> labels = outcome.labels();
  Rows rows{{"", "a", "b", ratio_title(outcome.by())}};
  if (!outcome.exact) rows[0].insert(rows[0].end(), {"interval", "p (Holm)"});
  rows[0].emplace_back(outcome.by().better);
  for (std::size_t i = 0; i < outcome.finishes.size(); ++i) {
    std::string title = finish_title(outcome.finishes[i]);
    for (const PairVerdict& pair : outcome.verdicts[i].pairs) {
      std::vector<std::string> row{title, labels[pair.a], labels[pair.b]};
      if (outcome.exact) {
        row.push_back(pair.test.has_ratio ? readable_number(std::exp(pair.test.log_ratio)) : "-");
      } else if (const auto interval = pair.interval()) {
        row.push_back(readable_number(interval->ratio));
        row.push_back(
            fmt::format("{} to {} ({:.4g} %)", readable_number(interval->low), readable_number(interval->high), 100 * pair.confidence()));
      } else {
        row.insert(row.end(), {"-", pair.test.anybody ? "by ranks: some missed" : "missed by all"});
      }
      if (!outcome.exact) row.push_back(readable_p(pair.step.adjusted));
      row.push_back(pair_words(pair, labels));
      rows.push_back(std::move(row));
      title.clear();
    }
  }
  return aligned(rows, 1) + (outcome.exact ? std::string() : "p (Holm): " + std::string(holm_words) + "\n");
}

std::string setting(const RaceOutcome& outcome) {
  const std::vector<StudyRun>& first = outcome.runs.front();
  std::string text = outcome.exact ? fmt::format("{} entrants, one run each", outcome.entrants.size())
                                   : fmt::format("{} entrants, {} seeds each, {}", outcome.entrants.size(), outcome.seeds(),
                                                 outcome.paired ? fmt::format("{} to {} for all", first.front().seed, first.back().seed)
                                                                : "all different");
  if (const auto& tuning = outcome.tuning)
    text += fmt::format("; tuned alike on held-out samples: {} candidates each, {} seed{} from {}", tuning->candidates.size(),
                        tuning->seeds, tuning->seeds == 1 ? "" : "s", outcome.first_tuning_seed);
  return text + "\n\n";
}

}  // namespace

std::string finish_title(const Finish& finish) { return title_to(measure_of(finish), finish.accuracy, finish.is_target); }

std::string ratio_title(const MeasureRow& by) { return fmt::format("b's {} over a's", by.name); }

std::string race_csv(const RaceOutcome& outcome) {
  const bool finished = outcome.endings().all_finished();
  std::string text = fmt::format("scheme,threshold,seed,{}{}\n", outcome.by().column, finished ? "" : ",outcome");
  for (std::size_t entrant = 0; entrant < outcome.entrants.size(); ++entrant)
    for (const Finish& finish : outcome.finishes)
      for (const StudyRun& run : outcome.runs[entrant]) {
        const auto value = value_to(finish, run.fields, run.sketch);
        text += fmt::format("{},{},{},{}", csv_text(outcome.entrants[entrant].label), finish.name, run.seed,
                            value ? number_text(*value) : "missed");
        text += finished ? std::string("\n") : "," + run.ending() + "\n";
      }
  return text;
}

std::string tuning_csv(const RaceOutcome& outcome) {
  const Tuning& tuning = *outcome.tuning;
  std::string text = "scheme,candidate";
  for (const std::string& path : tuning.paths) text += "," + csv_text(path);
  text += ",seeds,failed";
  for (const Finish& level : outcome.levels) text += fmt::format(",reached_{},{}", level.name, key_to(outcome.by(), level.name));
  text += ",validation_loss,rank\n";
  for (std::size_t entrant = 0; entrant < outcome.entrants.size(); ++entrant)
    for (std::size_t candidate = 0; candidate < tuning.candidates.size(); ++candidate) {
      const Criterion& criterion = outcome.tuned[entrant].criteria[candidate];
      text += fmt::format("{},{}", csv_text(outcome.entrants[entrant].label), candidate + 1);
      for (const std::string& value : tuning.candidates[candidate]) text += "," + csv_text(value);
      text += fmt::format(",{},{}", tuning.seeds, criterion.failed ? "yes" : "no");
      for (const Criterion::Level& level : criterion.levels)
        text += fmt::format(",{},{}", level.reached, level.reached > 0 ? number_text(level.seconds) : "");
      text += fmt::format(",{},{}\n", criterion.failed ? "" : number_text(criterion.loss), outcome.tuned[entrant].ranks[candidate]);
    }
  return text;
}

std::string verdicts_csv(const RaceOutcome& outcome) {
  const std::vector<std::string> labels = outcome.labels();
  const MeasureRow& by = outcome.by();
  std::string text = fmt::format(
      "threshold,a,b,seeds,reached_a,reached_b,test,{},low,high,confidence,p,p_holm,p_10_percent,p_10_percent_holm,verdict,{}\n", by.ratio,
      by.measure == Measure::time ? "faster" : "better");
  for (std::size_t i = 0; i < outcome.finishes.size(); ++i) {
    const std::vector<RunValues> times = outcome.times(outcome.finishes[i]);
    for (const PairVerdict& pair : outcome.verdicts[i].pairs) {
      text += fmt::format("{},{},{},{},{},{},{}", outcome.finishes[i].name, csv_text(labels[pair.a]), csv_text(labels[pair.b]),
                          outcome.seeds(), statistics_of(times[pair.a]).count, statistics_of(times[pair.b]).count, name_of(pair.test.kind));
      if (const auto interval = pair.interval())
        text += fmt::format(",{},{},{}", number_text(interval->ratio), number_text(interval->low), number_text(interval->high));
      else
        text += "," + (outcome.exact && pair.test.has_ratio ? number_text(std::exp(pair.test.log_ratio)) : std::string()) + ",,";
      const std::string words = pair_words(pair, labels);
      const auto faster = pair.better();
      text += fmt::format(",{},{},{},{},{},{},{}\n", number_text(pair.confidence()), number_text(pair.test.p),
                          number_text(pair.step.adjusted), number_text(pair.test.p_notable()), number_text(pair.near_step.adjusted),
                          csv_text(words), csv_text(faster ? labels[*faster] : words));
    }
  }
  return text;
}

std::string race_table(const RaceOutcome& outcome) {
  const std::vector<std::string> labels = outcome.labels();
  std::string text = setting(outcome) + times_table(outcome) + "\n" + pairs_table(outcome) + "\n";
  for (std::size_t i = 0; i < outcome.finishes.size(); ++i)
    text += finish_title(outcome.finishes[i]) + ": " + sentence(outcome.verdicts[i], labels, outcome.words()) + "\n";
  for (const std::string& reason : race_reasons(outcome)) text += "why: " + reason + "\n";
  for (const std::string& note : outcome.notes) text += "note: " + note + "\n";
  for (const std::string& warning : outcome.warnings()) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace straggler
