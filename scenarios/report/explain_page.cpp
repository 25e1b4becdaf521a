#include "scenarios/report/explain_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "scenarios/reasons/explain_said.hpp"
#include "scenarios/report/charts.hpp"
#include "scenarios/report/figure.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/said_words.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_rows = 64;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string slowdown_text(double slowdown) { return fmt::format("{:.3f}", slowdown); }

/// Symbols of the paper, with their meaning for whoever points at them.
std::string with_meanings(std::string html) {
  static constexpr std::pair<const char*, const char*> terms[] = {
      {"S_t", "S_t: how many times as long the run takes if workers are uneven in this kind of work alone (Lin et al. 2025)"},
      {"S_w",
       "S_w: how many times as long the run takes if this worker alone is as uneven as it is, and all others are even (Lin et al. 2025)"},
      {"M_W",
       "M_W: the share of the time lost to uneven workers that is saved if only the slowest 3 % of them, at least one, become even "
       "(Lin et al. 2025)"},
      {"slowdown S ", "S: the time of the run over its time with even workers (Lin et al. 2025)"}};
  for (const auto& [term, meaning] : terms)
    for (std::size_t at = 0; (at = html.find(term, at)) != std::string::npos;) {
      const std::string shown = fmt::format("<abbr title=\"{}\">{}</abbr>", meaning, term);
      html.replace(at, std::string_view(term).size(), shown);
      at += shown.size();
    }
  return html;
}

/// What removing a cause would save at most.
std::vector<LargeNumber> numbers(const Explained& explained) {
  std::vector<LargeNumber> all;
  const std::vector<const CauseRow*> ranked = ranked_causes(explained);
  if (!ranked.empty() && ranked.front()->share.value_or(0) > 0.005)
    all.push_back({percent(*ranked.front()->share), "less time without " + label_of(ranked.front()->cause)});
  if (const CauseRow& own = explained.row(Cause::nothing); own.figures) {
    const auto target = own.figures->time_to_target;
    all.push_back({readable_seconds(target ? *target : own.figures->simulated_seconds), target ? "to the target" : "simulated"});
    all.push_back({readable_number(own.figures->samples_per_second), "samples per second"});
  }
  return all;
}

/// The cost of each cause that exists and has an answer.
std::vector<Figure> costs(const Explained& explained) {
  BarChart chart;
  chart.label = "What each cause costs";
  chart.title = explained.by_target ? "seconds to the target that its removal saves" : "seconds that its removal saves";
  chart.text = readable_seconds;
  if (explained.by_rate()) {
    chart.title = "throughput gained without it, as a share of the run's";
    chart.text = percent;
  }
  std::vector<std::string> left_out;
  for (const CauseRow* const row : ranked_causes(explained)) {
    const double bar = explained.by_rate() ? cost_of(explained, *row) : *row->seconds_saved;
    const std::string text =
        explained.by_rate() ? percent(bar) : fmt::format("{}, {}", readable_seconds(*row->seconds_saved), percent(*row->share));
    if (bar > 0)
      chart.rows.push_back({label_of(row->cause), 0, false, bar, 0, text, {}});
    else
      left_out.push_back(label_of(row->cause));
  }
  if (chart.rows.empty()) return {};
  std::string words;
  if (!left_out.empty())
    words = fmt::format("Not drawn, as {}: {}.", explained.by_rate() ? "nothing is gained" : "nothing is saved", listed(left_out));
  return {figure_of(chart.label, words, chart)};
}

/// Workers by updates where workers share steps, else workers alone.
std::vector<Figure> slowdown_figures(const Slowdowns& slowdowns) {
  std::vector<Figure> figures;
  if (!slowdowns.note.empty() || slowdowns.workers.empty()) return figures;
  const std::string some = slowdowns.some ? " Of the workers, those are shown that compute longest." : "";
  IntervalChart ranked;
  ranked.label = "Slowdown by kind of work and by worker";
  ranked.title = "times as long as with even workers";
  ranked.text = readable_number;
  ranked.reference = 1;
  ranked.from_zero = false;
  const auto row = [](const std::string& name, double slowdown, std::optional<std::size_t> look) {
    return IntervalRow{name,
                       slowdown_text(slowdown),
                       look,
                       false,
                       false,
                       slowdown,
                       slowdown,
                       slowdown,
                       fmt::format("{:.3f} times as long as with even workers, if only this is uneven", slowdown)};
  };
  IntervalGroup kinds{"All workers are uneven, in", {row("every kind of work (S)", slowdowns.all(), 7)}},
      workers{"One worker alone is uneven (S_w)", {}};
  for (const Slowdowns::Kind& kind : slowdowns.kinds)
    kinds.rows.push_back(row(fmt::format("{} alone (S_t)", name_of(kind.kind)), kind.slowdown, 7));
  for (const Slowdowns::Worker* const worker : slowdowns.ranked())
    if (workers.rows.size() < most_rows) workers.rows.push_back(row(worker->name, worker->slowdown, 0));
  ranked.groups = {kinds, workers};
  if (!slowdowns.by_step.empty()) {
    HeatChart chart;
    chart.label = "Who slows whom down, and when";
    chart.x_title = slowdowns.column_steps > 1 ? fmt::format("updates, {} a column", slowdowns.column_steps) : "update";
    chart.y_title = "worker";
    chart.title = "slowdown";
    chart.text = readable_number;
    chart.least = 1;
    for (std::size_t i = 0; i < slowdowns.by_step.size(); ++i) chart.x.push_back(static_cast<double>(i * slowdowns.column_steps + 1));
    chart.y_labels.emplace_back("all workers");
    chart.values.push_back(slowdowns.by_step);
    for (const Slowdowns::Worker& worker : slowdowns.workers) {
      chart.y_labels.push_back(worker.name);
      chart.values.push_back(worker.by_step);
    }
    figures.push_back(figure_of(chart.label,
                                "How many times as long an update takes as with even workers, if this worker alone is as uneven as it is "
                                "(S_w of Lin et al. 2025, update by update)." +
                                    some,
                                chart));
  }
  figures.push_back(figure_of(
      ranked.label,
      "Even workers compute as long for a sample as all do on average, and have the median worker's update, loader and link." + some,
      ranked));
  return figures;
}

std::string seconds_cell(const std::optional<double>& seconds) { return seconds ? readable_seconds(*seconds) : "-"; }

std::string change_cell(const std::optional<double>& share) { return share ? fmt::format("{:+.1f} %", 100 * *share) : "-"; }

std::string cause_rows(const Explained& explained) {
  std::vector<std::vector<std::string>> rows;
  for (const CauseRow& row : explained.rows) {
    const bool answer = row.figures.has_value();
    rows.push_back({label_of(row.cause), row.note, answer ? readable_seconds(row.figures->simulated_seconds) : "-",
                    answer ? readable_number(row.figures->samples_per_second) : "-",
                    answer ? seconds_cell(row.figures->time_to_target) : "-", seconds_cell(row.seconds_saved),
                    row.share ? percent(*row.share) : "-"});
  }
  return html_table({"removed", "note", "takes", "samples/s", "to target", "saves", "share"}, rows, 2, rows.size());
}

std::string change_rows(const Explained& explained) {
  std::vector<std::vector<std::string>> rows;
  for (const ChangeRow& row : explained.changes)
    rows.push_back(
        {row.change, row.note, row.figures ? readable_number(row.figures->samples_per_second) : "-", change_cell(row.rate_change)});
  std::vector<std::string> head{"change", "note", "samples/s", "rate"};
  if (std::ranges::any_of(explained.changes, [](const ChangeRow& row) { return row.target_change.has_value(); })) {
    head.emplace_back("time to target");
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(change_cell(explained.changes[i].target_change));
  }
  return html_table(head, rows, 2, rows.size());
}

}  // namespace

std::string explain_page(const Explained& explained) {
  std::vector<std::string> words = page_words(explain_said(explained));
  std::string body = fmt::format("<h1>Why {} takes as long as it does</h1>\n", xml_text(explained.name));
  body += html_numbers(numbers(explained)) + html_paragraph(words.front(), "answer");
  words.erase(words.begin());
  body += html_of(costs(explained)) + html_list(words);
  body += html_paragraph(fmt::format("Scheme {}. {}", explained.scheme, page_words(work_said(explained))), "dim");
  if (const auto& slowdowns = explained.slowdowns)
    body += "<h2>Uneven workers</h2>\n" + with_meanings(html_list(page_words(slowdowns_said(*slowdowns)))) +
            html_of(slowdown_figures(*slowdowns));
  body += "<h2>One cause removed at a time</h2>\n" + cause_rows(explained);
  body += "<h2>Small changes</h2>\n" + change_rows(explained);
  std::vector<std::string> files{"explain.csv", "elasticities.csv"};
  if (explained.slowdowns && explained.slowdowns->note.empty()) files.insert(files.end(), {"slowdowns.csv", "step_slowdowns.csv"});
  if (!explained.warnings.empty()) body += html_list(explained.warnings, "dim");
  return html_page("Why " + explained.name + " takes as long", body + html_tables(files, ""));
}

}  // namespace straggler
