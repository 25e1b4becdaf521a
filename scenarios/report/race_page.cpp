#include "scenarios/report/race_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "scenarios/race/race_reasons.hpp"
#include "scenarios/race/race_tables.hpp"
#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/race_figures.hpp"
#include "scenarios/report/run_sheets.hpp"
#include "scenarios/report/said_words.hpp"
#include "scenarios/report/scheme_looks.hpp"
#include "scenarios/report/search_words.hpp"
#include "scenarios/report/units.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

std::vector<ShownSetting> settings_of(const RaceOutcome& outcome) {
  std::vector<ShownSetting> settings;
  for (std::size_t entrant = 0; entrant < outcome.entrants.size(); ++entrant) {
    ShownSetting setting{outcome.entrants[entrant].label, outcome.entrants[entrant].set, shown_runs(outcome.runs[entrant])};
    const std::vector<std::string> chosen = outcome.chosen(entrant);
    for (std::size_t path = 0; path < chosen.size(); ++path) setting.paths.emplace_back(outcome.tuning->paths[path], chosen[path]);
    settings.push_back(std::move(setting));
  }
  return settings;
}

/// "a, b or c".
std::string either(const std::vector<std::string>& words) {
  std::string text = listed(words);
  if (words.size() > 1) text.replace(text.size() - words.back().size() - 5, 5, " or ");
  return text;
}

class RacePage {
 public:
  explicit RacePage(const RaceOutcome& outcome)
      : outcome_(outcome), labels_(outcome.labels()), settings_(settings_of(outcome)), sheets_(settings_, scheme_looks(labels_)) {}

  std::string html(const Description& description, std::string_view folder) const {
    std::string body = fmt::format("<h1>{}: a race</h1>\n", xml_text(outcome_.name)) + html_paragraph(asked());
    body += html_numbers(numbers()) + html_list(said(), "findings");
    const std::vector<std::size_t> all = order();
    if (const std::vector<Figure> curves = sheets_.curves(all, goal()); !curves.empty()) body += "<h2>Learning</h2>\n" + html_of(curves);
    std::vector<std::string> warnings;
    for (const std::string& warning : outcome_.warnings()) warnings.push_back("Warning: " + warning + ".");
    if (!warnings.empty()) body += html_list(warnings, "warning");
    const std::string many = outcome_.by().plural;
    body += "<h2>" + many + " and reasons</h2>\n";
    std::vector<Figure> figures = race_figures(outcome_, sheets_);
    for (Figure& figure : sheets_.time_split(all))
      figures.insert(figures.begin() + std::min<std::ptrdiff_t>(1, std::ssize(figures)), std::move(figure));
    body += html_of(figures);
    body += "<h2>" + many + "</h2>\n" + times_table();
    if (outcome_.tuning) body += html_paragraph(scenario_paths(outcome_.tuning->paths), "dim");
    body += "<h2>Every pair</h2>\n" + pairs_table();
    body +=
        html_paragraph(std::string(interval_words) +
                           " The family-wise error rate at each threshold is at most 5 %. \u201cNo difference\u201d: not significant, and "
                           "tests exclude a difference of 10 %; \u201ctoo few seeds to tell\u201d: they do not.",
                       "dim");
    body += sheets_.html();
    std::vector<std::string> tables{"race.csv", "verdicts.csv"};
    if (outcome_.tuning) tables.emplace_back("tuning.csv");
    body += html_tables(tables, folder);
    if (!outcome_.failures.empty()) body += "<h2>Failed runs, which count as missed</h2>\n" + html_list(outcome_.failures);
    if (const auto scenario = description.all(Described::run_scenario); !scenario.empty())
      body += html_details("The scenario of the first run, with every default", scenario);
    return html_page(outcome_.name + " \u2013 a race", body);
  }

 private:
  /// The finish that decides: the target, else the last one that anybody reached.
  std::optional<std::size_t> deciding() const {
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < outcome_.finishes.size(); ++i) {
      if (!outcome_.verdicts[i].anybody) continue;
      if (outcome_.finishes[i].is_target) return i;
      last = i;
    }
    return last;
  }

  /// Entrants by their result: the one ahead first, those that miss last.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> all(settings_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const auto finish = deciding();
    if (!finish) return all;
    const std::vector<RunValues> times = outcome_.times(outcome_.finishes[*finish]);
    std::ranges::stable_sort(all, {}, [&](std::size_t entrant) {
      const RepeatStatistics time = statistics_of(times[entrant]);
      return std::tuple(entrant == outcome_.verdicts[*finish].ahead ? 0 : 1, times[entrant].size() - time.count, time.mean);
    });
    return all;
  }

  std::string named(const std::vector<std::size_t>& entrants) const {
    std::vector<std::string> names;
    for (const std::size_t entrant : entrants) names.push_back(labels_[entrant]);
    return names.size() > 2 ? fmt::format("{} others", names.size()) : either(names);
  }

  std::vector<LargeNumber> numbers() const {
    const auto finish = deciding();
    if (!finish) return {};
    const Verdict& verdict = outcome_.verdicts[*finish];
    const std::vector<RunValues> times = outcome_.times(outcome_.finishes[*finish]);
    const std::vector<std::size_t> all = order();
    const RepeatStatistics mine = statistics_of(times[all.front()]);
    std::vector<LargeNumber> numbers{
        {labels_[all.front()], verdict.winner         ? "wins"
                               : verdict.open.empty() ? "is ahead, but others are no worse"
                                                      : "is ahead, too few seeds to tell it from " + named(verdict.open)},
        {outcome_.by().text(mine.mean), finish_title(outcome_.finishes[*finish])}};
    if (all.size() < 2 || !(mine.mean > 0)) return numbers;
    const RepeatStatistics theirs = statistics_of(times[all[1]]);
    if (theirs.count > 0 && outcome_.by().measure == Measure::time)
      numbers.push_back({fmt::format("{:.3g}x", theirs.mean / mine.mean), "as fast as " + labels_[all[1]] + ", the next"});
    else if (theirs.count > 0)
      numbers.push_back(
          {share_text(mine.mean / theirs.mean), fmt::format("of the {} of {}, the next", outcome_.by().name, labels_[all[1]])});
    else
      numbers.push_back({"nobody else", "reaches it"});
    return numbers;
  }

  /// The accuracy that curves are to reach: the target, else the hardest threshold that anybody reached.
  std::optional<double> goal() const {
    std::optional<double> hardest;
    for (std::size_t i = 0; i < outcome_.finishes.size(); ++i) {
      const Finish& finish = outcome_.finishes[i];
      if (finish.accuracy == 0) continue;
      if (finish.is_target) return finish.accuracy;
      if (outcome_.verdicts[i].anybody) hardest = finish.accuracy;
    }
    return hardest;
  }

  std::string asked() const {
    const std::vector<StudyRun>& runs = outcome_.runs.front();
    std::string text = fmt::format("{} on scenario {}: {}? {} each, {}.", outcome_.by().question, outcome_.name, either(labels_),
                                   runs.size() == 1 ? std::string("One run") : fmt::format("{} runs", runs.size()),
                                   outcome_.exact    ? std::string("without randomness")
                                   : outcome_.paired ? fmt::format("of the same seeds, {} to {}", runs.front().seed, runs.back().seed)
                                                     : std::string("no two of one seed"));
    if (!outcome_.tuning) return text;
    const Tuning& tuning = *outcome_.tuning;
    std::string paths;
    for (const std::string& path : tuning.paths) paths += (paths.empty() ? "" : ", ") + axis_title(path);
    return text + fmt::format(" Tuned alike before, on samples that are held out: {}; {} candidates each, {} {} of each.", paths,
                              tuning.candidates.size(), tuning.seeds, tuning.seeds == 1 ? "run" : "runs");
  }

  std::vector<std::string> said() const {
    std::vector<std::string> all;
    const auto say = [&](std::size_t i) {
      all.push_back(capital(finish_title(outcome_.finishes[i])) + ": " + sentence(outcome_.verdicts[i], labels_, outcome_.words()) + ".");
    };
    const auto first = deciding();
    if (first) say(*first);
    for (const std::string& reason : race_reasons(outcome_)) all.push_back("Why: " + reason + ".");
    for (std::size_t i = 0; i < outcome_.finishes.size(); ++i)
      if (i != first) say(i);
    for (const std::string& note : outcome_.notes) all.push_back("Note: " + note + ".");
    return all;
  }

  std::string times_table() const {
    std::vector<std::string> head{"scheme"};
    if (outcome_.tuning)
      for (const std::string& path : outcome_.tuning->paths) head.push_back(axis_title(path));
    std::vector<std::vector<std::string>> rows;
    const std::vector<std::size_t> by_result = order();
    for (const std::size_t entrant : by_result) {
      rows.push_back({labels_[entrant]});
      for (const std::string& value : outcome_.chosen(entrant)) rows.back().push_back(value);
    }
    const bool finished = outcome_.endings().all_finished();
    if (!finished) head.emplace_back("outcome");
    for (std::size_t row = 0; row < rows.size() && !finished; ++row)
      rows[row].push_back(Endings::of(outcome_.runs[by_result[row]]).outcomes());
    rows.push_back({"who wins"});
    rows.back().resize(head.size());
    for (std::size_t i = 0; i < outcome_.finishes.size(); ++i) {
      head.push_back(finish_title(outcome_.finishes[i]));
      const std::vector<RunValues> times = outcome_.times(outcome_.finishes[i]);
      for (std::size_t row = 0; row < times.size(); ++row) rows[row].push_back(race_value_text(outcome_, times[by_result[row]]));
      const Verdict& verdict = outcome_.verdicts[i];
      rows.back().push_back(!verdict.anybody       ? "nobody"
                            : verdict.winner       ? labels_[*verdict.winner]
                            : verdict.open.empty() ? no_difference
                                                   : too_few_seeds);
    }
    return html_table(head, rows, 1, rows.size() - 1);
  }

  std::string pairs_table() const {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < outcome_.finishes.size(); ++i)
      for (const PairVerdict& pair : outcome_.verdicts[i].pairs) {
        const auto interval = pair.interval();
        rows.push_back({finish_title(outcome_.finishes[i]), labels_[pair.a], labels_[pair.b], pair_words(pair, labels_)});
        std::vector<std::string>& row = rows.back();
        if (outcome_.exact) {
          row.push_back(pair.test.has_ratio ? readable_number(std::exp(pair.test.log_ratio)) : "\u2013");
          continue;
        }
        row.insert(row.end(), {interval ? readable_number(interval->ratio) : "\u2013",
                               interval            ? fmt::format("{} to {} ({:.4g} %)", readable_number(interval->low),
                                                                 readable_number(interval->high), 100 * pair.confidence())
                               : pair.test.anybody ? "some missed it"
                                                   : "missed by all",
                               name_of(pair.test.kind), readable_p(pair.step.adjusted)});
      }
    std::vector<std::string> head{"", "a", "b", outcome_.by().better, ratio_title(outcome_.by())};
    if (!outcome_.exact) head.insert(head.end(), {"interval", "test", "p (Holm)"});
    return html_table(head, rows, 4, rows.size()) +
           (outcome_.exact ? std::string() : html_paragraph(fmt::format("p (Holm): {}.", holm_words), "dim"));
  }

  const RaceOutcome& outcome_;
  const std::vector<std::string> labels_;
  const std::vector<ShownSetting> settings_;  // [entrants], with the runs that did not fail
  const RunSheets sheets_;
};

}  // namespace

std::string race_page(const RaceOutcome& outcome, const Description& description, std::string_view folder) {
  return RacePage(outcome).html(description, folder);
}

}  // namespace straggler
