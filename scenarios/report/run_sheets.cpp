#include "scenarios/report/run_sheets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/run_charts.hpp"
#include "scenarios/report/scheme_looks.hpp"
#include "scenarios/report/units.hpp"
#include "scenarios/results/figures.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_bytes = 260'000;       // of all sheets
constexpr std::size_t most_sheet_points = 3'000;  // of the curves in all sheets
constexpr std::size_t most_curves = 12, best_curves = 6, most_split = 48, most_curve_points = 4'000;

struct SheetColumn {
  const char *key, *title;
  NumberText text;
};
const std::vector<SheetColumn>& sheet_columns() {
  static const std::vector<SheetColumn> all = [] {
    std::vector<SheetColumn> columns;
    for (const char* key : {"time_to_target_s", "simulated_seconds", "updates", "samples_per_second", "step_s", "exposed_communication_s",
                            "scaling_efficiency", "price_to_target", "price", "energy_to_target_joules", "energy_joules", "failures",
                            "rollbacks", "lost_updates", "goodput", "ettr", "final_test_accuracy", "final_test_perplexity"}) {
      const RunFigure& figure = *find_figure(key);
      columns.push_back(
          {figure.key.c_str(), figure.title.c_str(), figure.unit == RunFigure::Unit::share ? share_text : text_of_unit(figure.unit)});
    }
    for (const PhaseRow& row : phase_rows) columns.push_back({share_key(row.phase).c_str(), row.title, share_text});
    columns.push_back({"staleness_mean", "mean staleness", readable_number});
    columns.push_back({"staleness_max", "largest staleness", readable_number});
    columns.push_back({"bytes_sent", "bytes sent", readable_bytes});
    return columns;
  }();
  return all;
}

std::optional<double> number_of(const ShownRun& run, const std::string& key) {
  const auto at = run.numbers.find(key);
  return at == run.numbers.end() ? std::nullopt : std::optional(at->second);
}

bool is_finished(const ShownRun& run) { return straggler::is_finished({{"outcome", Scalar(run.outcome)}}); }

std::string link_text(const std::string& name, double use) { return fmt::format("{}, {}", name, share_text(use)); }

std::vector<LearningPoint> points_of(const RunSketch& sketch, bool epochs, std::optional<double> SketchPoint::*value) {
  std::vector<LearningPoint> points;
  for (const SketchPoint& each : sketch.curve) {
    if (!(each.*value)) continue;
    LearningPoint point{{each.time_s}, *(each.*value)};
    if (epochs) point.x.push_back(each.epoch.value_or(0));
    point.x.insert(point.x.end(), {each.update, each.bytes_sent});
    points.push_back(std::move(point));
  }
  return points;
}

/// Every run has epochs.
bool have_epochs(const std::vector<const RunSketch*>& sketches) {
  return std::all_of(sketches.begin(), sketches.end(), [](const RunSketch* sketch) {
    return std::all_of(sketch->curve.begin(), sketch->curve.end(), [](const SketchPoint& point) { return point.epoch.has_value(); });
  });
}

const std::vector<CurveAxis>& axes_over(bool epochs) {
  static const std::vector<CurveAxis> with = {{"time_s", "simulated time", readable_seconds},
                                              {"epoch", "epochs", readable_number},
                                              {"update", "updates", readable_number},
                                              {"bytes_sent", "bytes sent", readable_bytes}},
                                      without = {with[0], with[2], with[3]};
  return epochs ? with : without;
}

/// Where the run reaches the accuracy; none: it does not.
std::optional<std::vector<double>> reached_of(const RunSketch& sketch, std::optional<double> target, bool epochs) {
  for (const ThresholdResult& row : sketch.thresholds)
    if (target && row.threshold == *target) return reached_at(row, axes_over(epochs));
  return std::nullopt;
}

LearningFigure figure_over(bool epochs, const std::string& word) {
  LearningFigure figure;
  figure.word = word;
  for (const CurveAxis& axis : axes_over(epochs)) figure.axes.emplace_back(axis.title, axis.text);
  figure.crop = Crop::both;
  figure.file = "a run by itself";
  return figure;
}

/// The best ones, and others evenly spaced down to the last.
std::vector<std::size_t> chosen_of(const std::vector<std::size_t>& order) {
  if (order.size() <= most_curves) return order;
  std::vector<std::size_t> chosen(order.begin(), order.begin() + best_curves);
  const std::size_t rest = order.size() - best_curves, more = most_curves - best_curves;
  for (std::size_t i = 1; i <= more; ++i) chosen.push_back(order[best_curves + i * rest / more - 1]);
  return chosen;
}

}  // namespace

ShownRun shown_run(std::uint64_t seed, const std::vector<SummaryField>& fields, const std::string& sketch) {
  ShownRun run{seed, {}, sketch};
  if (const std::string outcome = text_of(fields, "outcome"); !outcome.empty()) run.outcome = outcome;
  for (const SheetColumn& column : sheet_columns())
    if (const auto value = scalar_of(fields, column.key).number()) run.numbers[column.key] = *value;
  if (const auto target = scalar_of(fields, "target_accuracy").number()) run.numbers["target_accuracy"] = *target;
  return run;
}

std::optional<double> ShownSetting::target() const {
  for (const ShownRun& run : runs)
    if (const auto target = number_of(run, "target_accuracy")) return target;
  return std::nullopt;
}

Endings ShownSetting::endings() const {
  Endings all;
  for (const ShownRun& run : runs) all.add(run.outcome);
  return all;
}

std::vector<std::size_t> setting_looks(const std::vector<ShownSetting>& settings) {
  std::vector<std::string> names, schemes;
  std::vector<std::size_t> scheme_of;
  for (const ShownSetting& setting : settings) {
    names.push_back(setting.name);
    const auto at =
        std::find_if(setting.paths.begin(), setting.paths.end(), [](const auto& path) { return axis_title(path.first) == "scheme"; });
    if (at == setting.paths.end()) continue;
    const auto known = std::find(schemes.begin(), schemes.end(), at->second);
    scheme_of.push_back(static_cast<std::size_t>(known - schemes.begin()));
    if (known == schemes.end()) schemes.push_back(at->second);
  }
  if (scheme_of.size() < settings.size()) return scheme_looks(names);
  std::vector<std::size_t> looks = scheme_looks(schemes), all;
  for (const std::size_t scheme : scheme_of) {
    all.push_back(looks[scheme]);
    looks[scheme] += series_colours;  // the next dashes
  }
  return all;
}

std::string busiest_link(const std::vector<ShownRun>& runs) {
  std::string name;
  double use = 0;
  for (const ShownRun& run : runs)
    if (const RunSketch sketch = read_sketch(run.sketch); sketch.busiest_use > use) {
      name = sketch.busiest_link;
      use = sketch.busiest_use;
    }
  return name.empty() ? name : link_text(name, use);
}

RunSheets::RunSheets(const std::vector<ShownSetting>& settings, std::vector<std::size_t> looks)
    : settings_(settings), looks_(std::move(looks)), shown_(settings.size()) {
  std::size_t curves = 0, bytes = 0;
  for (std::size_t i = 0; i < settings.size(); ++i)
    for (const ShownRun& run : settings[i].runs) {
      shown_[i].sketches.push_back(read_sketch(run.sketch));
      curves += shown_[i].sketches.back().curve.size() > 1 ? 1 : 0;
    }
  for (std::size_t i = 0; i < settings.size() && bytes < most_bytes; ++i) {
    if (settings[i].runs.empty()) continue;
    shown_[i].html = sheet(i, curves > 0 ? most_sheet_points / curves : 0);
    bytes += shown_[i].html.size();
  }
}

std::string RunSheets::link(std::size_t setting) const {
  return setting >= shown_.size() || shown_[setting].html.empty() ? std::string() : fmt::format("#run-{}", setting);
}

std::vector<Figure> RunSheets::curves(const std::vector<std::size_t>& order, std::optional<double> target, const std::string& where) const {
  std::vector<const RunSketch*> sketches;
  std::vector<std::size_t> with_curves;
  for (const std::size_t i : order) {
    bool any = false;
    for (const RunSketch& sketch : shown_[i].sketches) {
      if (sketch.curve.size() > 1) sketches.push_back(&sketch);
      any = any || sketch.curve.size() > 1;
    }
    if (any) with_curves.push_back(i);
  }
  const std::vector<std::size_t> chosen = chosen_of(with_curves);
  const bool epochs = have_epochs(sketches);
  std::vector<Figure> figures;
  for (const auto& [word, value] :
       {std::pair("test accuracy", &SketchPoint::test_accuracy), std::pair("test loss", &SketchPoint::test_loss)}) {
    LearningFigure wanted = figure_over(epochs, word);
    wanted.most_points = most_curve_points;
    wanted.group = "settings";
    for (const std::size_t i : chosen) {
      RepeatedCurve curve{settings_[i].name, looks_[i], {}, 0, link(i)};
      for (const RunSketch& sketch : shown_[i].sketches) {
        curve.runs.push_back(points_of(sketch, epochs, value));
        curve.reached.push_back(reached_of(sketch, target, epochs));
        curve.evaluations = std::max<std::size_t>(curve.evaluations, sketch.evaluations);
      }
      const bool reaches = std::ranges::any_of(curve.reached, [](const auto& at) { return at.has_value(); });
      curve.best = reaches && i == order.front() && order.size() > 1;
      wanted.curves.push_back(std::move(curve));
    }
    if (wanted.curves.empty()) return figures;
    if (value == &SketchPoint::test_accuracy) wanted.target = target;
    wanted.note = "Click a curve for its runs.";
    if (chosen.size() < with_curves.size())
      wanted.note = fmt::format("{} of {} settings are drawn. {}", chosen.size(), with_curves.size(), wanted.note);
    if (auto figure = learning_figure(wanted)) {
      if (!where.empty()) figure->title += " (" + where + ")";
      figures.push_back(std::move(*figure));
    }
  }
  return figures;
}

std::vector<Figure> RunSheets::time_split(const std::vector<std::size_t>& settings) const {
  std::vector<std::string> names, links;
  std::vector<ByPhase<double>> rows;
  for (const std::size_t i : settings) {
    const auto finished = std::ranges::count_if(settings_[i].runs, [](const ShownRun& run) { return is_finished(run); });
    if (finished == 0) continue;
    names.push_back(settings_[i].name);
    links.push_back(link(i));
    rows.emplace_back();
    for (const PhaseRow& row : phase_rows) {
      double sum = 0;
      for (const ShownRun& run : settings_[i].runs) sum += is_finished(run) ? number_of(run, share_key(row.phase)).value_or(0) : 0;
      rows.back()[row.phase] = sum / static_cast<double>(finished);
    }
  }
  if (rows.empty() || rows.size() > most_split) return {};
  StackChart chart = straggler::time_split(names, rows);
  if (chart.parts.empty()) return {};
  if (std::any_of(links.begin(), links.end(), [](const std::string& link) { return !link.empty(); })) chart.links = std::move(links);
  return {figure_of(chart.label, "Means over the runs." + facts(settings), chart)};
}

/// " Mean staleness: a 0, b 3. Busiest links: a server 0 down, 93 %; …"
std::string RunSheets::facts(const std::vector<std::size_t>& settings) const {
  constexpr std::size_t most_told = 8;
  if (settings.size() > most_told) return {};
  std::string stale, links;
  for (const std::size_t i : settings) {
    double sum = 0, count = 0;
    for (const ShownRun& run : settings_[i].runs)
      if (const auto value = number_of(run, "staleness_mean"); value && is_finished(run)) {
        sum += *value;
        ++count;
      }
    if (count > 0) stale += fmt::format("{}{} {}", stale.empty() ? "" : ", ", settings_[i].name, readable_number(sum / count));
    if (const std::string link = busiest_link(settings_[i].runs); !link.empty())
      links += fmt::format("{}{} {}", links.empty() ? "" : "; ", settings_[i].name, link);
  }
  std::string text;
  if (!stale.empty()) text += " Mean staleness: " + stale + ".";
  if (!links.empty()) text += " Busiest links, with their share of use: " + links + ".";
  return text;
}

std::string RunSheets::table(std::size_t setting) const {
  const std::vector<ShownRun>& runs = settings_[setting].runs;
  std::vector<const SheetColumn*> columns;
  for (const SheetColumn& column : sheet_columns())
    if (std::any_of(runs.begin(), runs.end(), [&](const ShownRun& run) {
          const auto value = number_of(run, column.key);
          return value && (*value != 0 || !std::string_view(column.key).ends_with("_fraction"));
        }))
      columns.push_back(&column);
  const bool links = std::any_of(shown_[setting].sketches.begin(), shown_[setting].sketches.end(),
                                 [](const RunSketch& sketch) { return !sketch.busiest_link.empty(); });
  const bool finished = settings_[setting].endings().all_finished();
  std::vector<std::string> head{"seed"};
  if (!finished) head.emplace_back("outcome");
  for (const SheetColumn* column : columns) head.emplace_back(column->title);
  if (links) head.emplace_back("busiest link");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    rows.push_back({std::to_string(runs[i].seed)});
    if (!finished) rows.back().push_back(runs[i].outcome);
    for (const SheetColumn* column : columns) {
      const auto value = number_of(runs[i], column->key);
      rows.back().push_back(value ? column->text(*value) : std::string_view(column->key) == "time_to_target_s" ? "missed" : "\u2013");
    }
    const RunSketch& sketch = shown_[setting].sketches[i];
    if (links) rows.back().push_back(sketch.busiest_link.empty() ? "\u2013" : link_text(sketch.busiest_link, sketch.busiest_use));
  }
  return html_table(head, rows, 0, rows.size());
}

std::string RunSheets::sheet(std::size_t setting, std::size_t most_points) const {
  const ShownSetting& shown = settings_[setting];
  std::string paths;
  for (const auto& [path, value] : shown.paths) paths += fmt::format("{}{}: {}", paths.empty() ? "" : ", ", path, value);
  std::string body = fmt::format("<details class=\"sheet\" id=\"run-{}\"><summary>{}</summary>\n", setting, xml_text(shown.name));
  std::set<std::string> slow;
  for (const RunSketch& sketch : shown_[setting].sketches)
    if (!sketch.waited_for.empty()) slow.insert(sketch.waited_for);
  for (const std::string& who : slow) body += html_paragraph("The others wait for " + who + ".");
  body += table(setting);
  std::vector<const RunSketch*> sketches;
  for (const RunSketch& sketch : shown_[setting].sketches) sketches.push_back(&sketch);
  constexpr std::size_t least_points = 12;
  if (most_points >= least_points) {
    const bool epochs = have_epochs(sketches);
    for (const auto& [word, value] :
         {std::pair("test accuracy", &SketchPoint::test_accuracy), std::pair("test loss", &SketchPoint::test_loss)}) {
      LearningFigure wanted = figure_over(epochs, word);
      wanted.most_points = most_points * sketches.size();
      for (std::size_t i = 0; i < sketches.size(); ++i)
        wanted.curves.push_back({fmt::format("seed {}", shown.runs[i].seed),
                                 i,
                                 {points_of(*sketches[i], epochs, value)},
                                 static_cast<std::size_t>(sketches[i]->evaluations)});
      if (auto figure = learning_figure(wanted)) {
        figure->title += " of each run";
        figure->drawings.erase(figure->drawings.begin() + 1, figure->drawings.end());
        body += html_of(*figure);
        break;
      }
    }
  }
  if (!paths.empty())
    body += html_paragraph(
        fmt::format("In the scenario: {}. straggler run with these values and one of the seeds makes the page of that run, with its "
                    "timeline.",
                    paths),
        "dim");
  return body + "</details>\n";
}

std::string RunSheets::html() const {
  std::string sheets;
  std::size_t missing = 0;
  for (const Shown& each : shown_) {
    sheets += each.html;
    missing += each.html.empty() && !each.sketches.empty() ? 1 : 0;
  }
  if (sheets.empty()) return sheets;
  std::string text = "<h2>Their runs</h2>\n" + sheets;
  if (missing > 0) text += html_paragraph(fmt::format("{} more settings have no sheet here, to keep the page small.", missing), "dim");
  return text;
}

}  // namespace straggler
