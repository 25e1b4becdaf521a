#include "scenarios/search/metric.hpp"

#include <algorithm>
#include <stdexcept>

#include "scenarios/results/measures.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

bool among(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<std::string> known_metrics() {
  std::vector<std::string> names;
  RunRecord any;
  any.symbols = true;
  any.costs = {0, 0};
  for (const SummaryField& field : summarize(any))
    if (!holds_text(field.key) && !among(field.key, {"seed", "target_accuracy"})) names.push_back(field.key);
  return names;
}

std::optional<double> threshold_of(const std::string& metric) {
  const std::optional<ThresholdKey> key = threshold_key(metric);
  return key ? std::optional(key->accuracy) : std::nullopt;
}

std::optional<Measure> measure_of(const std::string& metric) {
  if (const std::optional<ThresholdKey> key = threshold_key(metric)) return key->row->measure;
  for (const MeasureRow& row : measures())
    if (metric == row.whole || metric == row.to_target) return row.measure;
  return std::nullopt;
}

std::optional<double> metric_value(const std::string& metric, const std::vector<SummaryField>& fields, const std::string& sketch) {
  if (const std::optional<double> known = scalar_of(fields, metric).number()) return known;
  const std::optional<ThresholdKey> key = threshold_key(metric);
  if (!key) return std::nullopt;
  for (const ThresholdResult& row : read_sketch(sketch).thresholds)
    if (row.threshold == key->accuracy) return row.*(key->row->at);
  return std::nullopt;
}

bool metric_needs_math(const std::string& metric) { return needs_math(metric) || threshold_of(metric); }

bool more_is_better(const std::string& metric) {
  const RunFigure* const figure = find_figure(metric);
  return figure && figure->better == RunFigure::Better::more;
}

std::string (*metric_text(const std::string& metric))(double) {
  const RunFigure* const figure = find_figure(metric);
  if (const std::optional<ThresholdKey> key = threshold_key(metric)) return key->row->text;
  using Unit = RunFigure::Unit;
  const bool own = figure && (figure->unit == Unit::seconds || figure->unit == Unit::price || figure->unit == Unit::joules);
  return own ? text_of_unit(figure->unit) : readable_number;
}

Measured Measured::of(std::vector<std::optional<double>> values, bool exact) {
  Measured out;
  out.exact = exact;
  out.statistics = statistics_of(values);
  out.reached = out.statistics.count;
  out.values = std::move(values);
  return out;
}

RepeatStatistics paired_difference(const Measured& a, const Measured& b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < std::min(a.values.size(), b.values.size()); ++i)
    if (a.values[i] && b.values[i]) differences.push_back(*a.values[i] - *b.values[i]);
  return statistics_of(differences);
}

}  // namespace straggler
