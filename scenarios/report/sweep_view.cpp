#include "scenarios/report/sweep_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/sweep/range.hpp"

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

ReportAxis report_axis(const SweptAxis& swept, const std::vector<std::string>& columns) {
  ReportAxis axis;
  for (const std::size_t column : swept.columns) {
    axis.paths.push_back(columns[column]);
    axis.title += (axis.title.empty() ? "" : ", ") + axis_title(columns[column]);
    axis.workers = axis.workers || counts_workers(columns[column]);
  }
  std::vector<std::string> first;
  for (const std::vector<std::string>& value : swept.values) {
    std::string label;
    for (const std::string& part : value) label += (label.empty() ? "" : ", ") + part;
    axis.labels.push_back(label);
    first.push_back(value.front());
  }
  axis.numbers = numbers_of(first);
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

SweepView::SweepView(const std::vector<std::string>& columns, const SweepOutcome& outcome)
    : columns_(columns), outcome_(outcome), scalars_(columns, outcome) {
  const std::vector<SweptAxis> swept = swept_axes(columns.size(), outcome.groups);
  for (const SweptAxis& axis : swept) axes_.push_back(report_axis(axis, columns));
  for (const SweepRow& row : outcome.rows) {
    if (settings_.empty() || settings_.back().group != row.group) {
      ReportSetting setting;
      setting.group = row.group;
      for (const SweptAxis& axis : swept) setting.at.push_back(axis.of_group[row.group]);
      places_[setting.at] = settings_.size();
      settings_.push_back(std::move(setting));
    }
    settings_.back().rows.push_back(&row);
  }
  find_metric();
}

void SweepView::find_metric() {
  std::vector<double> targets, samples;
  bool scored = false;
  for (const ReportSetting& setting : settings_) {
    for (const auto& [repeat, target] : values(setting, "target_accuracy")) targets.push_back(target);
    for (const auto& [repeat, count] : values(setting, "samples")) samples.push_back(count);
    scored = scored || !values(setting, "time_to_target_s").empty() || !values(setting, "final_test_accuracy").empty();
  }
  if (!targets.empty() && scored) {
    const std::string what = alike(targets) ? number_text(targets.front()) + " test accuracy" : std::string("the target");
    metric_ = {"time_to_target_s", "time to " + what, "Settings are compared by the simulated time to their target.", true,
               readable_seconds};
  } else if (alike(samples)) {
    metric_ = {"simulated_seconds", "simulated time",
               "All points handle the same number of samples, so they are compared by the simulated time that it takes.", true,
               readable_seconds};
  } else {
    metric_ = {"samples_per_second", "samples per second",
               "There is no target, and points handle different numbers of samples, so they are compared by samples per simulated second.",
               false, readable_number};
  }
}

bool SweepView::has(const std::string& key) const {
  return std::any_of(settings_.begin(), settings_.end(), [&](const ReportSetting& setting) { return !values(setting, key).empty(); });
}

std::map<std::int64_t, double> SweepView::values(const ReportSetting& setting, const std::string& key) const {
  std::map<std::int64_t, double> all;
  for (const SweepRow* row : setting.rows)
    if (const SummaryField* field = scalars_.find(*row, key); field && field->kind == SummaryField::Kind::number)
      all[row->repeat] = std::stod(field->value);
  return all;
}

RepeatStatistics SweepView::statistics(const ReportSetting& setting, const std::string& key) const {
  std::vector<double> all;
  for (const auto& [repeat, value] : values(setting, key)) all.push_back(value);
  return statistics_of(all);
}

std::optional<std::size_t> SweepView::setting_at(const std::vector<std::size_t>& at) const {
  const auto place = places_.find(at);
  return place == places_.end() ? std::nullopt : std::optional(place->second);
}

std::string SweepView::name_of(const ReportSetting& setting) const {
  std::string name;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    name += (axis > 0 ? ", " : "") + axes_[axis].title + " " + axes_[axis].labels[setting.at[axis]];
  return name;
}

std::size_t SweepView::most_repeats() const {
  std::size_t most = 0;
  for (const ReportSetting& setting : settings_) most = std::max(most, setting.rows.size());
  return most;
}

bool SweepView::told_apart(std::size_t a, std::size_t b) const {
  const std::map<std::int64_t, double> of_a = values(settings_[a], metric_.key), of_b = values(settings_[b], metric_.key);
  if (of_a.size() != of_b.size()) return true;  // one of them reached the target more often
  std::vector<double> differences;
  for (const auto& [repeat, value] : of_a)
    if (const auto other = of_b.find(repeat); other != of_b.end()) differences.push_back(value - other->second);
  const RepeatStatistics statistics = statistics_of(differences);
  if (statistics.count == 1 && settings_[a].rows.size() > 1) return false;
  return statistics.count > 0 && std::abs(statistics.mean) > statistics.half_width;
}

Ranking SweepView::rank(std::vector<std::size_t> settings) const {
  Ranking ranking;
  std::map<std::size_t, RepeatStatistics> known;
  for (const std::size_t setting : settings) {
    const RepeatStatistics statistics = metric_of(setting);
    if (statistics.count == 0) continue;
    known[setting] = statistics;
    ranking.order.push_back(setting);
  }
  std::stable_sort(ranking.order.begin(), ranking.order.end(), [&](std::size_t a, std::size_t b) {
    const std::size_t missed_a = settings_[a].rows.size() - known[a].count, missed_b = settings_[b].rows.size() - known[b].count;
    if (missed_a != missed_b) return missed_a < missed_b;
    return metric_.less_is_better ? known[a].mean < known[b].mean : known[a].mean > known[b].mean;
  });
  if (ranking.order.empty()) return ranking;
  ranking.tied = 1;
  while (ranking.tied < ranking.order.size() && !told_apart(ranking.order[0], ranking.order[ranking.tied])) ++ranking.tied;
  return ranking;
}

std::string value_text(const RepeatStatistics& statistics, std::size_t repeats, std::string (*text)(double)) {
  if (statistics.count == 0) return repeats > 1 ? fmt::format("missed (0 of {})", repeats) : std::string("missed");
  std::string out = text(statistics.mean);
  if (statistics.count > 1 && statistics.half_width > 0) out += " ± " + text(statistics.half_width);
  if (statistics.count < repeats) out += fmt::format(" ({} of {})", statistics.count, repeats);
  return out;
}

}  // namespace straggler
