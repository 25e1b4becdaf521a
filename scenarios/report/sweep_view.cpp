#include "scenarios/report/sweep_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/said_words.hpp"
#include "scenarios/results/run_sketch.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/sweep/range.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

/// Values of one kind, all different; else empty.
std::vector<double> numbers_of(const std::vector<std::string>& labels) {
  std::vector<double> numbers;
  std::optional<RangeEnd> first;
  for (const std::string& label : labels) {
    const std::optional<RangeEnd> number = parse_range_end(label);
    if (!number || (first && first->dimension != number->dimension)) return {};
    if (!first) first = number;
    if (std::find(numbers.begin(), numbers.end(), number->value) != numbers.end()) return {};
    numbers.push_back(number->value);
  }
  return numbers;
}

/// Precision and its options are ways to train, not the thing trained.
bool is_workload(const std::string& path) {
  return (path == "workload" || path.starts_with("workload.")) && !path.starts_with("workload.precision") &&
         !path.starts_with("workload.loss_scale");
}

ReportAxis report_axis(const SweptAxis& swept, const std::vector<std::string>& columns) {
  ReportAxis axis;
  for (const std::size_t column : swept.columns) {
    axis.paths.push_back(columns[column]);
    axis.title += (axis.title.empty() ? "" : ", ") + axis_title(columns[column]);
    axis.workers = axis.workers || counts_workers(columns[column]);
    axis.workload = axis.workload || is_workload(columns[column]);
  }
  std::vector<std::vector<std::string>> parts(swept.columns.size());
  for (const std::vector<std::string>& value : swept.values) {
    std::string label;
    for (const std::string& part : value) label += (label.empty() ? "" : ", ") + part;
    axis.labels.push_back(label);
    for (std::size_t i = 0; i < value.size(); ++i) parts[i].push_back(value[i]);
  }
  // A column of words among them makes it an axis of words, unless the first one has numbers.
  for (std::size_t i = 0; i < parts.size() && axis.numbers.empty(); ++i) {
    if (i > 0 && !std::ranges::all_of(parts[0], [](const std::string& text) { return parse_range_end(text).has_value(); })) break;
    axis.numbers = numbers_of(parts[i]);
  }
  axis.workers = axis.workers && !axis.numbers.empty();
  return axis;
}

/// Within a hundredth.
bool alike(const std::vector<double>& values) {
  if (values.empty()) return false;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *high - *low <= 0.01 * std::abs(*high);
}

}  // namespace

SweepView::SweepView(const std::vector<std::string>& columns, const SweepOutcome& outcome, bool seedless)
    : columns_(columns), outcome_(outcome), scalars_(columns, outcome), seedless_(seedless) {
  const std::vector<SweptAxis> swept = swept_axes(columns.size(), outcome.groups);
  for (const SweptAxis& axis : swept) axes_.push_back(report_axis(axis, columns));
  for (SweptSetting& setting : swept_settings(outcome)) {
    std::vector<std::size_t> at;
    for (const SweptAxis& axis : swept) at.push_back(axis.of_group[setting.group]);
    places_[at] = settings_.size();
    settings_.push_back({std::move(setting), std::move(at)});
  }
  find_metric();
}

void SweepView::find_metric() {
  std::vector<double> targets, samples;
  bool scored = false, trained = false;
  for (const ReportSetting& setting : settings_)
    for (const auto& [repeat, count] : scalars_.values(setting, "samples")) samples.push_back(count);
  for (const SweepRow& row : outcome_.rows) {
    if (const auto target = scalar_of(row.fields, "target_accuracy").number()) targets.push_back(*target);
    trained = trained || scalar_of(row.fields, "final_test_accuracy").is_number();
    scored = scored || scalar_of(row.fields, "time_to_target_s").is_number() || scalar_of(row.fields, "final_test_accuracy").is_number() ||
             outcome_of(row.fields) == Outcome::diverged;
  }
  if (!targets.empty() && scored) {
    const std::string what = alike(targets) ? number_text(targets.front()) + " test accuracy" : std::string("the target");
    metric_ = {"time_to_target_s", "time to " + what, "Settings are compared by the simulated time to their target.", true,
               readable_seconds};
  } else if (alike(samples)) {
    metric_ = {"simulated_seconds",
               "simulated time",
               "All points process the same number of samples, so they are compared by simulated time.",
               true,
               readable_seconds,
               true};
  } else {
    metric_ = {"samples_per_second",
               "samples per second",
               "There is no target, and points process different numbers of samples, so they are compared by samples per simulated second.",
               false,
               readable_number,
               true};
  }
  if (metric_.speed)
    metric_.why += trained ? std::string(" That does not say what was learnt: `training.stop.target_accuracy` would.")
                           : fmt::format(" This is {}.", timing_caveat);
}

bool SweepView::has(const std::string& key) const {
  return std::any_of(settings_.begin(), settings_.end(),
                     [&](const ReportSetting& setting) { return !scalars_.values(setting, key).empty(); });
}

Said SweepView::mean_said(const ReportSetting& setting, const std::string& key, std::string (*text)(double)) const {
  const bool any = std::ranges::any_of(setting.rows, [](const SweepRow* row) { return is_finished(row->fields); });
  if (!any) return Said(setting.endings().outcomes());
  return {SaidValue{scalars_.statistics(setting, key), setting.rows.size(), text, page_mean}};
}
std::string SweepView::text(const ReportSetting& setting, const std::string& key, std::string (*text)(double)) const {
  return page_words(mean_said(setting, key, text));
}

RunResult SweepView::result(std::size_t setting) const {
  std::vector<RunResult> runs;
  for (const SweepRow* row : settings_[setting].rows) runs.push_back(result_of(row->fields, read_sketch(row->sketch)));
  return mean_of(runs);
}

std::optional<std::size_t> SweepView::setting_at(const std::vector<std::size_t>& at) const {
  const auto place = places_.find(at);
  return place == places_.end() ? std::nullopt : std::optional(place->second);
}

namespace {

template <class Wanted>
Said settings_said(const std::vector<ReportAxis>& axes, const ReportSetting& setting, const Wanted& wanted) {
  std::vector<Said> all;
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (wanted(axes[axis])) all.push_back(said_of(axes[axis], setting.at[axis]));
  return joined(all);
}

}  // namespace

Said title_of(const ReportAxis& axis) {
  std::vector<Said> paths;
  for (const std::string& path : axis.paths) paths.push_back({SaidPath{path}});
  return joined(paths);
}

Said said_of(const ReportAxis& axis, std::size_t value) {
  if (axis.paths.size() == 1) return {SaidSetting{axis.paths.front(), axis.labels[value]}};
  return worded("{} {}", title_of(axis), axis.labels[value]);
}

std::string SweepView::name_of(const ReportSetting& setting) const {
  return page_words(settings_said(axes_, setting, [](const ReportAxis&) { return true; }));
}
std::string SweepView::short_name_of(const ReportSetting& setting) const {
  std::string name;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const std::string title = axes_[axis].title == "scheme" ? std::string() : axes_[axis].title + " ";
    name += (name.empty() ? "" : ", ") + title + axes_[axis].labels[setting.at[axis]];
  }
  return name;
}
Said SweepView::rival_said(const ReportSetting& setting) const {
  return settings_said(axes_, setting, [](const ReportAxis& axis) { return !axis.workload; });
}
Said SweepView::workload_said(const ReportSetting& setting) const {
  return settings_said(axes_, setting, [](const ReportAxis& axis) { return axis.workload; });
}

std::size_t SweepView::most_repeats() const {
  std::size_t most = 0;
  for (const ReportSetting& setting : settings_) most = std::max(most, setting.rows.size());
  return most;
}

Contender SweepView::contender(const ReportSetting& setting) const {
  Contender contender;
  for (const SweepRow* row : setting.rows) contender[row->repeat];
  for (const auto& [repeat, value] : scalars_.values(setting, metric_.key)) contender[repeat] = value;
  return contender;
}

Ranking SweepView::rank(const std::vector<std::size_t>& settings, TestFamily family) const {
  std::vector<Contender> contenders;
  for (const std::size_t setting : settings) contenders.push_back(contender(settings_[setting]));
  const RunDesign design{.maximize = !metric_.less_is_better, .exact = exact()};
  const Verdict verdict = judge(contenders, design, family);
  const auto named = [&](const std::vector<std::size_t>& which) {
    std::vector<std::size_t> all;
    for (const std::size_t each : which) all.push_back(settings[each]);
    return all;
  };
  Ranking ranking{named(ranked(contenders, design.maximize)),
                  {},
                  named(verdict.alike),
                  named(verdict.open),
                  verdict.narrow,
                  verdict.all_alike,
                  verdict.one_run,
                  false};
  for (NarrowLead& each : ranking.narrow) each.contender = settings[each.contender];
  if (verdict.winner) ranking.winner = settings[*verdict.winner];
  // Tests may put another one ahead than the means.
  if (verdict.anybody) {
    const auto ahead = std::find(ranking.order.begin(), ranking.order.end(), settings[verdict.ahead]);
    std::rotate(ranking.order.begin(), ahead, std::next(ahead));
  }
  if (ranking.one_run && ranking.order.size() > 1) {
    const std::vector<Contender> first_two = {contender(settings_[ranking.order[0]]), contender(settings_[ranking.order[1]])};
    ranking.level = judge(first_two, design, TestFamily::all_pairs).pairs.front().test.level();
  }
  return ranking;
}

std::vector<std::vector<std::size_t>> SweepView::workloads() const {
  std::vector<std::vector<std::size_t>> all;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    const auto [at, fresh] = known.emplace(plain(workload_said(settings_[i])), all.size());
    if (fresh) all.emplace_back();
    all[at->second].push_back(i);
  }
  return all;
}

}  // namespace straggler
