#include "scenarios/race/race_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>

#include "scenarios/results/text.hpp"
#include "scenarios/statistics/statistics.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

std::string readable_finish(const Finish& finish) {
  if (finish.accuracy == 0) return "time an epoch";
  return "time to " + finish.name + (finish.is_target ? " (target)" : "");
}

std::vector<double> reached(const RunValues& times) {
  std::vector<double> values;
  for (const auto& time : times)
    if (time) values.push_back(*time);
  return values;
}

/// "83.4 s +- 2.1 s (3 of 5)": a mean is never without the number of runs that it leaves out.
std::string with_count(const std::vector<double>& values, std::size_t runs, std::string (*text)(double)) {
  std::string out = values.empty() ? "missed" : text(statistics_of(values).mean);
  if (values.size() > 1) out += " +- " + text(statistics_of(values).half_width);
  if (values.size() < runs) out += fmt::format(" ({} of {})", values.size(), runs);
  return out;
}

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::string> labels_of(const Race& race) {
  std::vector<std::string> labels;
  for (const Entrant& entrant : race.entrants) labels.push_back(entrant.label);
  return labels;
}

std::string last_key(const std::string& path) { return path.substr(path.find_last_of('.') + 1); }

std::string times_table(const Race& race, const RaceReader& reader, const RaceOutcome& outcome) {
  Rows rows{{""}};
  if (race.tuning)
    for (const std::string& path : race.tuning->paths) rows[0].push_back(last_key(path));
  for (std::size_t entrant = 0; entrant < race.entrants.size(); ++entrant) {
    rows.push_back({race.entrants[entrant].label});
    if (!outcome.tuned.empty())
      for (const std::string& value : race.tuning->candidates[outcome.tuned[entrant].best]) rows.back().push_back(value);
  }
  for (const Finish& finish : reader.finishes()) {
    rows[0].push_back(readable_finish(finish));
    const std::vector<RunValues> times = outcome.times(finish);
    for (std::size_t entrant = 0; entrant < times.size(); ++entrant)
      rows[entrant + 1].push_back(with_count(reached(times[entrant]), race.seeds, readable_seconds));
  }
  if (!outcome.endings().all_finished()) {
    rows[0].emplace_back("outcome");
    for (std::size_t entrant = 0; entrant < race.entrants.size(); ++entrant)
      rows[entrant + 1].push_back(outcome.endings(entrant).outcomes());
  }
  const std::string table = aligned(rows, 1);  // the first row is titles
  return table + half_width_note(table);
}

std::string pairs_table(const Race& race, const RaceReader& reader, const RaceOutcome& outcome) {
  const std::vector<std::string> labels = labels_of(race);
  Rows rows{{"", "a", "b", "b's time over a's", "interval", "p (Holm)", "faster"}};
  for (std::size_t i = 0; i < reader.finishes().size(); ++i) {
    std::string title = readable_finish(reader.finishes()[i]);
    for (const PairVerdict& pair : outcome.verdicts[i].pairs) {
      std::vector<std::string> row{title, race.entrants[pair.a].label, race.entrants[pair.b].label};
      if (const auto interval = pair.interval()) {
        row.push_back(readable_number(interval->ratio));
        row.push_back(
            fmt::format("{} to {} ({:.4g} %)", readable_number(interval->low), readable_number(interval->high), 100 * pair.confidence()));
      } else {
        row.insert(row.end(), {"-", pair.test.anybody ? "by ranks: some missed" : "missed by all"});
      }
      row.push_back(readable_p(pair.step.adjusted));
      row.push_back(pair_words(pair, labels));
      rows.push_back(std::move(row));
      title.clear();
    }
  }
  return aligned(rows, 1);  // the first row is titles
}

std::string outcome_text(const RaceRun& run) {
  const std::string* const outcome = scalar_of(run.fields, "outcome").text();
  return outcome ? *outcome : "failed";
}

std::string setting(const Race& race, const RaceReader& reader) {
  std::string text = fmt::format(
      "{} entrants, {} seeds each, {}", race.entrants.size(), race.seeds,
      race.paired ? fmt::format("{} to {} for all", reader.racing_seed(0, 0), reader.racing_seed(0, race.seeds - 1)) : "all different");
  if (race.tuning)
    text += fmt::format("; tuned alike on held-out samples: {} candidates each, {} seed{} from {}", race.tuning->candidates.size(),
                        race.tuning->seeds, race.tuning->seeds == 1 ? "" : "s", reader.tuning_seed(0));
  return text + "\n\n";
}

}  // namespace

std::string readable_p(double p) {
  if (p < 1e-4) return "< 0.0001";
  std::string text;
  for (int digits = 3; digits <= 17; ++digits) {
    text = fmt::format("{:.{}g}", p, digits);
    if ((std::stod(text) <=> family_wise_error) == (p <=> family_wise_error)) break;
  }
  return text;
}

std::string race_csv(const Race& race, const RaceReader& reader, const RaceOutcome& outcome) {
  const bool finished = outcome.endings().all_finished();
  std::string text = finished ? "scheme,threshold,seed,time_s\n" : "scheme,threshold,seed,time_s,outcome\n";
  for (std::size_t entrant = 0; entrant < race.entrants.size(); ++entrant)
    for (const Finish& finish : reader.finishes())
      for (const RaceRun& run : outcome.runs[entrant]) {
        const auto seconds = seconds_to(finish, run.fields);
        text += fmt::format("{},{},{},{}", csv_text(race.entrants[entrant].label), finish.name, run.seed,
                            seconds ? number_text(*seconds) : "missed");
        text += finished ? std::string("\n") : "," + outcome_text(run) + "\n";
      }
  return text;
}

std::string tuning_csv(const Race& race, const RaceReader& reader, const RaceOutcome& outcome) {
  std::string text = "scheme,candidate";
  for (const std::string& path : race.tuning->paths) text += "," + csv_text(path);
  text += ",seeds,failed";
  for (const Finish& level : reader.levels()) text += fmt::format(",reached_{0},time_to_{0}_s", level.name);
  text += ",validation_loss,rank\n";
  for (std::size_t entrant = 0; entrant < race.entrants.size(); ++entrant)
    for (std::size_t candidate = 0; candidate < race.tuning->candidates.size(); ++candidate) {
      const Criterion& criterion = outcome.tuned[entrant].criteria[candidate];
      text += fmt::format("{},{}", csv_text(race.entrants[entrant].label), candidate + 1);
      for (const std::string& value : race.tuning->candidates[candidate]) text += "," + csv_text(value);
      text += fmt::format(",{},{}", race.tuning->seeds, criterion.failed ? "yes" : "no");
      for (const Criterion::Level& level : criterion.levels)
        text += fmt::format(",{},{}", level.reached, level.reached > 0 ? number_text(level.seconds) : "");
      text += fmt::format(",{},{}\n", criterion.failed ? "" : number_text(criterion.loss), outcome.tuned[entrant].ranks[candidate]);
    }
  return text;
}

std::string verdicts_csv(const Race& race, const RaceReader& reader, const RaceOutcome& outcome) {
  const std::vector<std::string> labels = labels_of(race);
  std::string text =
      "threshold,a,b,seeds,reached_a,reached_b,test,time_ratio,low,high,confidence,p,p_holm,p_10_percent,p_10_percent_holm,verdict,"
      "faster\n";
  for (std::size_t i = 0; i < reader.finishes().size(); ++i) {
    const std::vector<RunValues> times = outcome.times(reader.finishes()[i]);
    for (const PairVerdict& pair : outcome.verdicts[i].pairs) {
      text += fmt::format("{},{},{},{},{},{},{}", reader.finishes()[i].name, csv_text(race.entrants[pair.a].label),
                          csv_text(race.entrants[pair.b].label), race.seeds, reached(times[pair.a]).size(), reached(times[pair.b]).size(),
                          name_of(pair.test.kind));
      if (const auto interval = pair.interval())
        text += fmt::format(",{},{},{}", number_text(interval->ratio), number_text(interval->low), number_text(interval->high));
      else
        text += ",,,";
      const std::string words = pair_words(pair, labels);
      const auto faster = pair.better();
      text += fmt::format(",{},{},{},{},{},{},{}\n", number_text(pair.confidence()), number_text(pair.test.p),
                          number_text(pair.step.adjusted), number_text(pair.test.p_notable()), number_text(pair.near_step.adjusted),
                          csv_text(words), csv_text(faster ? labels[*faster] : words));
    }
  }
  return text;
}

std::string race_table(const Race& race, const RaceReader& reader, const RaceOutcome& outcome) {
  const std::vector<std::string> labels = labels_of(race);
  std::string text = setting(race, reader) + times_table(race, reader, outcome) + "\n" + pairs_table(race, reader, outcome) + "\n";
  for (std::size_t i = 0; i < reader.finishes().size(); ++i)
    text += readable_finish(reader.finishes()[i]) + ": " + sentence(outcome.verdicts[i], labels) + "\n";
  for (const std::string& reason : outcome.reasons) text += "why: " + reason + "\n";
  for (const std::string& note : reader.notes()) text += "note: " + note + "\n";
  for (const std::string& warning : outcome.warnings) text += "warning: " + warning + "\n";
  for (const Tuned& tuned : outcome.tuned)
    for (const std::string& warning : tuned.warnings) text += "warning: " + warning + "\n";
  for (const std::string& warning : outcome.endings().notes()) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace straggler
