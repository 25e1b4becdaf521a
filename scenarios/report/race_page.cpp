#include "scenarios/report/race_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "scenarios/race/race_tables.hpp"
#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/race_figures.hpp"
#include "scenarios/report/run_sheets.hpp"
#include "scenarios/report/scheme_looks.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

class RacePage {
 public:
  explicit RacePage(const RaceAnswer& answer) : answer_(answer), sheets_(answer.settings, scheme_looks(answer.entrants)) {
    for (const RacedFinish& finish : answer.finishes) verdicts_.push_back(judge(answer.times(finish), {.paired = answer.paired}));
  }

  std::string html(std::string_view folder) const {
    std::string body = fmt::format("<h1>{}: a race</h1>\n", xml_text(answer_.name)) + html_paragraph(asked());
    body += "<h2>What came out</h2>\n" + html_list(said(), "findings");
    std::vector<std::string> warnings;
    for (const std::string& warning : answer_.warnings) warnings.push_back("Warning: " + warning + ".");
    if (!warnings.empty()) body += html_list(warnings, "warning");
    body +=
        html_paragraph(std::string(interval_words) +
                           " The family-wise error rate at each threshold is at most 5 %. \u201cNo difference\u201d: not significant, and "
                           "tests exclude a difference of 10 %; \u201ctoo few seeds to tell\u201d: they do not.",
                       "dim");
    std::vector<std::size_t> all(answer_.settings.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (const std::vector<Figure> curves = sheets_.curves(all, goal()); !curves.empty()) body += "<h2>Learning</h2>\n" + html_of(curves);
    body += "<h2>Times and reasons</h2>\n";
    std::vector<Figure> figures = race_figures(answer_, verdicts_, sheets_);
    for (Figure& figure : sheets_.time_split(all))
      figures.insert(figures.begin() + std::min<std::ptrdiff_t>(1, std::ssize(figures)), std::move(figure));
    body += html_of(figures);
    body += "<h2>Times</h2>\n" + times_table();
    if (!answer_.tuned.empty()) body += html_paragraph(paths_text(), "dim");
    body += "<h2>Every pair</h2>\n" + pairs_table();
    body += sheets_.html();
    std::vector<std::string> tables{"race.csv", "verdicts.csv"};
    if (!answer_.tuned.empty()) tables.emplace_back("tuning.csv");
    body += html_tables(tables, folder);
    if (!answer_.failures.empty()) body += "<h2>Failed runs, which count as missed</h2>\n" + html_list(answer_.failures);
    if (const auto scenario = answer_.description.all(Described::run_scenario); !scenario.empty())
      body += html_details("The scenario of the first run, with every default", scenario);
    return html_page(answer_.name + " \u2013 a race", body);
  }

 private:
  /// The accuracy that curves are to reach: the target, else the hardest threshold that anybody reached.
  std::optional<double> goal() const {
    std::optional<double> hardest;
    for (std::size_t i = 0; i < verdicts_.size(); ++i) {
      const RacedFinish& finish = answer_.finishes[i];
      if (finish.accuracy == 0) continue;
      if (finish.is_target) return finish.accuracy;
      if (verdicts_[i].anybody) hardest = finish.accuracy;
    }
    return hardest;
  }

  std::string asked() const {
    const std::vector<std::uint64_t>& seeds = answer_.seeds.front();
    std::string text = fmt::format(
        "Who is first, {}, on scenario {}? {} runs each, {}.", listed(answer_.entrants), answer_.name, seeds.size(),
        answer_.paired ? fmt::format("of the same seeds, {} to {}", seeds.front(), seeds.back()) : std::string("no two of one seed"));
    if (answer_.tuned.empty()) return text;
    std::string paths;
    for (const std::string& path : answer_.tuned) paths += (paths.empty() ? "" : ", ") + axis_title(path);
    return text + fmt::format(" Tuned alike before, on samples that are held out: {}; {} candidates each, {} {} of each.", paths,
                              answer_.candidates.size(), answer_.tuning_seeds, answer_.tuning_seeds == 1 ? "run" : "runs");
  }

  std::vector<std::string> said() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < verdicts_.size(); ++i) {
      std::string title = finish_title(answer_.finishes[i]);
      title.front() = 'T';
      all.push_back(title + ": " + sentence(verdicts_[i], answer_.entrants) + ".");
    }
    for (const std::string& reason : answer_.reasons) all.push_back("Why: " + reason + ".");
    for (const std::string& note : answer_.notes) all.push_back("Note: " + note + ".");
    return all;
  }

  std::string times_table() const {
    std::vector<std::string> head{"scheme"};
    for (const std::string& path : answer_.tuned) head.push_back(axis_title(path));
    std::vector<std::vector<std::string>> rows;
    for (std::size_t entrant = 0; entrant < answer_.entrants.size(); ++entrant) {
      rows.push_back({answer_.entrants[entrant]});
      if (entrant < answer_.chosen.size())
        rows.back().insert(rows.back().end(), answer_.chosen[entrant].begin(), answer_.chosen[entrant].end());
    }
    const bool finished = std::ranges::all_of(answer_.settings, [](const ShownSetting& each) { return each.endings().all_finished(); });
    if (!finished) head.emplace_back("outcome");
    for (std::size_t entrant = 0; entrant < rows.size() && !finished; ++entrant)
      rows[entrant].push_back(answer_.settings[entrant].endings().outcomes());
    rows.push_back({"who wins"});
    rows.back().resize(head.size());
    for (std::size_t i = 0; i < answer_.finishes.size(); ++i) {
      head.push_back(finish_title(answer_.finishes[i]));
      const std::vector<RunValues> times = answer_.times(answer_.finishes[i]);
      for (std::size_t entrant = 0; entrant < times.size(); ++entrant) rows[entrant].push_back(race_time_text(times[entrant]));
      const Verdict& verdict = verdicts_[i];
      rows.back().push_back(!verdict.anybody       ? "nobody"
                            : verdict.winner       ? answer_.entrants[*verdict.winner]
                            : verdict.open.empty() ? no_difference
                                                   : too_few_seeds);
    }
    return html_table(head, rows, 1, rows.size() - 1);
  }

  std::string pairs_table() const {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < verdicts_.size(); ++i)
      for (const PairVerdict& pair : verdicts_[i].pairs) {
        const auto interval = pair.interval();
        rows.push_back({finish_title(answer_.finishes[i]), answer_.entrants[pair.a], answer_.entrants[pair.b],
                        pair_words(pair, answer_.entrants), interval ? readable_number(interval->ratio) : "\u2013",
                        interval ? fmt::format("{} to {} ({:.4g} %)", readable_number(interval->low), readable_number(interval->high),
                                               100 * pair.confidence())
                        : pair.test.anybody ? "some missed it"
                                            : "missed by all",
                        name_of(pair.test.kind), readable_p(pair.step.adjusted)});
      }
    return html_table({"", "a", "b", "faster", "b's time over a's", "interval", "test", "p (Holm)"}, rows, 4, rows.size());
  }

  std::string paths_text() const {
    std::string text;
    for (const std::string& path : answer_.tuned) text += (text.empty() ? "In the scenario, " : "; ") + axis_title(path) + " is " + path;
    return text + ".";
  }

  const RaceAnswer& answer_;
  const RunSheets sheets_;
  std::vector<Verdict> verdicts_;
};

}  // namespace

std::string race_page(const RaceAnswer& answer, std::string_view folder) { return RacePage(answer).html(folder); }

}  // namespace straggler
