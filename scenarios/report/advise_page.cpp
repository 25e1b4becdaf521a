#include "scenarios/report/advise_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/advise/advise_said.hpp"
#include "scenarios/report/charts.hpp"
#include "scenarios/report/figure.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/said_words.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

constexpr const char* list_titles[] = {"Same machines, same learning", "Same machines, other learning", "Other machines"};
constexpr const char* list_captions[] = {"What is learned stays as it is.", "What is learned changes too, and a race shows how much.",
                                         "Ranked by samples per second of each worker."};

std::string gain_text(double share) { return fmt::format("{:+.1f} %", 100 * share); }
std::string percent_text_of(double percent) { return fmt::format("{:.0f} %", percent); }

/// The best setting of each remedy of a list that gains something.
std::vector<Figure> gains(const Advice& advice) {
  std::vector<Figure> figures;
  for (const RemedyList list : {RemedyList::same_learning, RemedyList::other_learning, RemedyList::other_machines}) {
    const auto place = static_cast<std::size_t>(list);
    BarChart chart;
    chart.label = fmt::format("{}. {}", letter_of(list), list_titles[place]);
    chart.title = "more samples per second, %";
    chart.text = percent_text_of;
    std::vector<std::string> useless;
    std::string learning;
    for (const AdviceRow* const row : best_of_each(advice, list)) {
      if (row->change >= worth_a_change && !row->remedy->same_updates)
        learning += fmt::format(" {}: {}.", row->name(), row->remedy->learning);
      if (row->change < worth_a_change)
        useless.push_back(row->name());
      else
        chart.rows.push_back({fmt::format("{}, {}", row->name(), row->attempt.setting),
                              place,
                              false,
                              100 * row->change,
                              0,
                              gain_text(row->change) + (row->attempt.sets.empty() ? ", an upper bound" : ""),
                              {}});
    }
    if (chart.rows.empty()) continue;
    std::string words = std::string(list_captions[place]) + learning;
    if (!useless.empty()) words += fmt::format(" Not drawn, as they gain less than 1 %: {}.", listed(useless));
    figures.push_back(figure_of(chart.label, words, chart));
  }
  return figures;
}

std::string remedy_rows(const std::vector<AdviceRow>& all) {
  std::vector<std::vector<std::string>> rows;
  for (const AdviceRow& row : all)
    rows.push_back({row.list(), row.name(), row.attempt.setting, sets_text(row.attempt), row.learning(), row.note, gain_text(row.change),
                    readable_number(row.figures->samples_per_second), readable_seconds(row.figures->step),
                    row.figures->time_to_target ? readable_seconds(*row.figures->time_to_target) : "-"});
  return html_table({"list", "remedy", "setting", "--set", "learning", "note", "change", "samples/s", "an update", "to target"}, rows, 6,
                    rows.size());
}

std::string reasons(const Advice& advice) {
  std::vector<std::vector<std::string>> rows;
  for (const AdviceRow& row : advice.left_out) {
    std::vector<std::string> cells{row.list(), row.name(), row.attempt.setting, row.why_not};
    if (std::ranges::find(rows, cells) == rows.end()) rows.push_back(std::move(cells));
  }
  return html_table({"list", "remedy", "setting", "why it is left out"}, rows, 4, rows.size());
}

/// The job as it is, and the best change.
std::vector<LargeNumber> numbers(const Advice& advice) {
  std::vector<LargeNumber> all;
  if (!advice.rows.empty()) {
    const AdviceRow& best = advice.rows.front();
    all.push_back({gain_text(best.change), "samples per second by " + best.name()});
    if (best.figures) all.push_back({readable_seconds(best.figures->step), "an update then"});
  }
  if (!advice.figures_alone) {
    all.push_back({readable_seconds(advice.own.step), "an update now"});
    all.push_back({readable_number(advice.own.samples_per_second), "samples per second now"});
  }
  return all;
}

}  // namespace

std::string advise_page(const Advice& advice) {
  std::vector<std::string> words = page_words(advise_said(advice));
  std::string body = fmt::format("<h1>What would make {} faster</h1>\n", xml_text(advice.name));
  body += html_numbers(numbers(advice)) + html_paragraph(words.front(), "answer");
  words.erase(words.begin());
  body += html_list(words);
  if (!advice.figures_alone)
    body += html_paragraph(fmt::format("Scheme {}: {} samples per second, {} an update.", advice.scheme,
                                       readable_number(advice.own.samples_per_second), readable_seconds(advice.own.step)),
                           "dim");
  body += html_of(gains(advice));
  if (!advice.rows.empty()) body += "<h2>Every setting that was tried</h2>\n" + remedy_rows(advice.rows);
  if (!advice.combinations.empty()) body += "<h2>Together</h2>\n" + remedy_rows(advice.combinations);
  if (!advice.left_out.empty()) body += "<h2>Left out</h2>\n" + reasons(advice);
  if (!advice.warnings.empty()) body += html_list(advice.warnings, "dim");
  return html_page("What would make " + advice.name + " faster", body + html_tables({"advise.csv"}, ""));
}

}  // namespace straggler
