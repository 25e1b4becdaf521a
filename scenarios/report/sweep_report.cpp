#include "scenarios/report/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/report/charts.hpp"
#include "scenarios/report/findings.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/pareto.hpp"
#include "scenarios/report/run_charts.hpp"
#include "scenarios/report/run_sheets.hpp"
#include "scenarios/report/said_words.hpp"
#include "scenarios/report/sweep_figures.hpp"
#include "scenarios/report/sweep_why.hpp"
#include "scenarios/report/units.hpp"
#include "scenarios/results/figures.hpp"
#include "scenarios/sweep/sweep_tables.hpp"
#include "scenarios/sweep/time_of_setting.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text_lines.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

/// "scheme (ssgd, asgd) x bandwidth (100Mbps … 100Gbps, 10 values)".
std::string axes_text(const SweepView& view) {
  std::string text;
  for (const ReportAxis& axis : view.axes()) {
    std::string values;
    if (axis.labels.size() <= 6)
      for (const std::string& label : axis.labels) values += (values.empty() ? "" : ", ") + label;
    else
      values = fmt::format("{} to {}, {} values", axis.labels.front(), axis.labels.back(), axis.labels.size());
    text += fmt::format("{}{} ({})", text.empty() ? "" : " by ", axis.title, values);
  }
  return text;
}

std::string asked(const SweepView& view, const std::string& scenario) {
  const std::size_t groups = view.outcome().groups.size(), finished = view.settings().size(), points = view.outcome().rows.size();
  std::string text = scenario.empty() ? std::string("A scenario") : "Scenario " + scenario;
  const std::string axes = axes_text(view);
  text += axes.empty() ? " in one setting" : " in " + fmt::format("{} settings: {}", groups, axes);
  text += fmt::format("; {} {}{}.", points, points == 1 ? "run" : "runs",
                      view.most_repeats() > 1 ? fmt::format(", up to {} seeds a setting", view.most_repeats()) : "");
  if (finished < groups) text += fmt::format(" {} of {} settings have finished runs.", finished, groups);
  return text;
}

/// Which path of the scenario an axis is.
std::string paths_text(const SweepView& view) {
  std::string text;
  for (const ReportAxis& axis : view.axes()) {
    text += (text.empty() ? "" : "; ") + axis.title + " is ";
    for (std::size_t i = 0; i < axis.paths.size(); ++i) text += (i > 0 ? ", " : "") + axis.paths[i];
  }
  return text + ".";
}

struct Column {
  const char *key, *title;
  NumberText text;
};

/// The metric first, then other columns that distinguish settings.
std::vector<Column> columns_of(const SweepView& view) {
  const auto of_figure = [](const char* key) {
    const RunFigure& figure = *find_figure(key);
    return Column{key, figure.title.c_str(), figure.unit == RunFigure::Unit::share ? share_text : text_of_unit(figure.unit)};
  };
  std::vector<Column> known = {of_figure("time_to_target_s"),
                               of_figure("simulated_seconds"),
                               of_figure("samples_per_second"),
                               of_figure("step_s"),
                               of_figure("exposed_communication_s"),
                               of_figure("scaling_efficiency"),
                               {"speed_up", "scaling speed-up", readable_number},
                               {"speed_up_to_target", "scaling speed-up to target", readable_number},
                               of_figure("price_to_target"),
                               of_figure("price"),
                               of_figure("energy_to_target_joules"),
                               of_figure("energy_joules"),
                               of_figure("failures"),
                               of_figure("rollbacks"),
                               of_figure("lost_updates"),
                               of_figure("goodput"),
                               of_figure("ettr"),
                               of_figure("final_test_accuracy"),
                               of_figure("final_test_perplexity"),
                               {"bytes_per_epoch", "bytes per epoch", readable_bytes}};
  for (const PhaseRow& row : summary_phases)
    if (row.shown == PhaseShown::first) known.push_back({share_key(row.phase).c_str(), row.title, share_text});
  known.push_back({"staleness_mean", "staleness", readable_number});
  std::vector<Column> columns;
  for (const Column& column : known)
    if (view.metric().key == column.key) columns.push_back(column);
  for (const Column& column : known)
    if (view.metric().key != column.key && view.has(column.key)) columns.push_back(column);
  return columns;
}

std::vector<ShownSetting> shown_settings(const SweepView& view) {
  std::vector<ShownSetting> all;
  for (const ReportSetting& setting : view.settings()) {
    ShownSetting shown{view.short_name_of(setting), {}, {}};
    const std::vector<std::string>& labels = view.outcome().groups[setting.group].labels;
    for (std::size_t i = 0; i < std::min(labels.size(), view.columns().size()); ++i) shown.paths.emplace_back(view.columns()[i], labels[i]);
    for (const SweepRow* row : setting.rows) shown.runs.push_back(shown_run(row->seed, row->fields, row->sketch));
    all.push_back(std::move(shown));
  }
  return all;
}

/// Time against price and energy: until the target where there is one, else of the whole runs.
std::vector<Figure> against_costs(const SweepView& view, const RunSheets& sheets) {
  std::vector<Figure> figures;
  const bool target = view.metric().key == row_of(Measure::time).to_target;
  const MeasureRow& time = row_of(Measure::time);
  for (const Measure measure : {Measure::price, Measure::energy}) {
    const MeasureRow& row = row_of(measure);
    const char* const key = target ? row.to_target : row.whole;
    std::vector<ParetoPoint> points;
    for (std::size_t i = 0; i < view.settings().size() && view.workloads().size() == 1; ++i) {
      const ReportSetting& setting = view.settings()[i];
      const RepeatStatistics seconds = view.scalars().statistics(setting, target ? time.to_target : time.whole),
                             cost = view.scalars().statistics(setting, key);
      if (seconds.count > 0 && cost.count > 0) points.push_back({view.short_name_of(setting), i, seconds.mean, cost.mean, sheets.link(i)});
    }
    const std::string to = target ? " to the target" : "";
    if (auto figure = pareto_figure(points, row, (target ? time.name + to : std::string(time.chart)), row.name + to))
      figures.push_back(std::move(*figure));
  }
  return figures;
}

/// Of each workload, whose accuracies do not compare with those of others.
std::vector<Figure> learning(const SweepView& view, const RunSheets& sheets, const std::vector<ShownSetting>& shown) {
  constexpr std::size_t most_workloads = 4;
  std::vector<Figure> figures;
  const std::vector<std::vector<std::size_t>> workloads = view.workloads();
  for (std::size_t i = 0; i < std::min(workloads.size(), most_workloads); ++i) {
    std::vector<std::size_t> order = view.rank(workloads[i], TestFamily::with_best).order;
    for (const std::size_t setting : workloads[i])
      if (std::find(order.begin(), order.end(), setting) == order.end()) order.push_back(setting);
    const ReportSetting& first = view.settings()[order.front()];
    for (Figure& figure : sheets.curves(order, shown[order.front()].target(), page_words(view.workload_said(first))))
      figures.push_back(std::move(figure));
  }
  return figures;
}

/// Over each axis of numbers.
std::vector<std::string> along_of(const SweepView& view, const ChartPlan& plan) {
  std::vector<std::string> all;
  for (const ChartPlan& curves : curve_plans(view, plan))
    for (std::string& words : along_words(view, curves)) all.push_back(std::move(words));
  return all;
}

/// Of the best setting of one workload.
std::vector<LargeNumber> numbers(const SweepView& view) {
  const std::vector<std::vector<std::size_t>> workloads = view.workloads();
  if (workloads.size() != 1) return {};
  const Ranking ranking = view.rank(workloads.front(), TestFamily::with_best);
  if (ranking.order.empty()) return {};
  const std::size_t best = ranking.order.front(), last = ranking.order.back();
  const ReportSetting& setting = view.settings()[best];
  const ReportMetric& metric = view.metric();
  std::vector<LargeNumber> all;
  if (view.settings().size() > 1) all.push_back({view.short_name_of(setting), ranking.winner ? "is the best setting" : "is ahead"});
  const double mine = view.metric_of(best).mean, worst = view.metric_of(last).mean;
  all.push_back({metric.text(mine), metric.title});
  const double times = metric.less_is_better ? worst / mine : mine / worst;
  if (last != best && std::isfinite(times) && times > 1)
    all.push_back({fmt::format("{:.3g}x", times), "as good as the last, " + view.short_name_of(view.settings()[last])});
  const RunResult result = view.result(best);
  if (const auto share = result.shares[Phase::compute]) all.push_back({share_text(*share), "of its workers' time computing"});
  all.push_back({readable_bytes(result.bytes_sent), "sent"});
  add_price(all, result.summary);
  return all;
}

std::string table(const SweepView& view, const RunSheets& sheets, const std::vector<ShownSetting>& shown) {
  const std::vector<Column> columns = columns_of(view);
  std::vector<std::string> head;
  for (const ReportAxis& axis : view.axes()) head.push_back(axis.title);
  const std::size_t words = head.size();
  head.emplace_back("runs");
  const bool finished = Endings::of(view.outcome().rows).all_finished();
  if (!finished) head.emplace_back("outcome");
  for (const Column& column : columns) head.emplace_back(column.title);
  std::vector<std::string> busiest, links;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    busiest.push_back(busiest_link(shown[i].runs));
    links.push_back(sheets.link(i));
  }
  const bool any = std::any_of(busiest.begin(), busiest.end(), [](const std::string& link) { return !link.empty(); });
  if (any) head.emplace_back("busiest link");
  head.insert(head.begin() + static_cast<std::ptrdiff_t>(words), "most time");
  std::vector<std::vector<std::string>> rows;
  for (const ReportSetting& setting : view.settings()) {
    std::vector<std::string> row;
    for (std::size_t axis = 0; axis < view.axes().size(); ++axis) row.push_back(view.axes()[axis].labels[setting.at[axis]]);
    const std::string words_of_time = most_time(setting);
    row.push_back(words_of_time.empty() ? "\u2013" : words_of_time);
    row.push_back(std::to_string(setting.rows.size()));
    if (!finished) row.push_back(setting.endings().outcomes());
    for (const Column& column : columns) {
      const RepeatStatistics value = view.scalars().statistics(setting, column.key);
      const bool target = std::string_view(column.key) == "time_to_target_s";
      row.push_back(value.count > 0 || target ? mean_text(value, setting.rows.size(), column.text, page_mean) : std::string("\u2013"));
    }
    if (any) row.push_back(busiest[rows.size()].empty() ? std::string("\u2013") : busiest[rows.size()]);
    rows.push_back(std::move(row));
  }
  const std::vector<std::vector<std::size_t>> workloads = view.workloads();
  const Ranking ranking = workloads.size() == 1 ? view.rank(workloads.front(), TestFamily::with_best) : Ranking();
  return html_table(head, rows, words + 1, ranking.order.empty() || rows.size() < 2 ? rows.size() : ranking.order.front(), "setting",
                    links);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> sweep_report_files(const Description& description, const std::vector<std::string>& columns,
                                                                    const SweepOutcome& outcome) {
  const SweepView view(columns, outcome, description.seedless());
  const ChartPlan plan = plan_of(view);
  const std::vector<std::string> scenario = description.all(Described::point_scenario);
  const std::string name = description.has(Described::sweep) ? description.one(Described::sweep) : "Sweep";
  std::string body = fmt::format("<h1>{}</h1>\n", xml_text(name)) + html_paragraph(asked(view, description.one(Described::scenario)));
  std::vector<std::pair<std::string, std::string>> files(1);
  const std::vector<std::string> sentences = page_words(findings(view, plan));
  if (sentences.empty()) {
    body += html_paragraph("No point is finished.");
  } else {
    body += html_numbers(numbers(view)) + html_list(sentences, "findings") + html_paragraph(view.metric().why, "dim");
    const std::vector<ShownSetting> shown = shown_settings(view);
    const RunSheets sheets(shown, setting_looks(shown));
    std::vector<Figure> figures = sweep_figures(view, plan, sheets);
    for (Figure& figure : against_costs(view, sheets)) figures.push_back(std::move(figure));
    const std::vector<Figure> curves = learning(view, sheets, shown);
    if (!figures.empty()) body += "<h2>Pictures</h2>\n";
    body += html_of(figures);
    if (const std::vector<std::string> along = along_of(view, plan); !along.empty())
      body += "<h2>What grows and what stays</h2>\n" + html_list(along);
    if (!curves.empty()) body += "<h2>Learning</h2>\n" + html_of(curves);
    for (const Figure& figure : figures)
      for (std::size_t i = 0; i < figure.files.size(); ++i) files.emplace_back(figure.files[i], figure.drawings[i].standalone());
    body += "<h2>All settings</h2>\n" + table(view, sheets, shown) +
            html_paragraph(view.most_repeats() > 1 ? interval_words : "Times are simulated.", "dim");
    if (!view.axes().empty()) body += html_paragraph("In the scenario, " + paths_text(view), "dim");
    body += sheets.html();
  }
  if (!outcome.failures.empty()) body += "<h2>What failed</h2>\n" + html_list(outcome.failures);
  if (!scenario.empty()) body += html_details("The scenario of the first point, with every default", scenario);
  files.front() = {"report.html", html_page(name + " \u2013 a sweep", body)};
  return files;
}

void remove_old_maps(const std::filesystem::path& folder, const std::vector<std::pair<std::string, std::string>>& files) {
  for (std::size_t number = 1; number <= most_pictures; ++number) {
    const std::string name = map_file(number);
    if (std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.first == name; })) continue;
    std::error_code error;
    if (!std::filesystem::is_regular_file(folder / name, error)) continue;
    constexpr std::size_t most_bytes = 64 << 20;  // of a picture that a sweep writes
    if (SvgPicture::is_standalone(read_file(folder / name, most_bytes).text)) std::filesystem::remove(folder / name, error);
  }
}

}  // namespace straggler
