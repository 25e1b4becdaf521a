#include "scenarios/search/metric.hpp"

#include <algorithm>
#include <stdexcept>

#include "scenarios/results/figures.hpp"
#include "sim/base/quantity.hpp"
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
  for (const SummaryField& field : summarize(any))
    if (!holds_text(field.key) && !among(field.key, {"seed", "target_accuracy"})) names.push_back(field.key);
  return names;
}

std::optional<double> threshold_of(const std::string& metric) {
  if (!metric.starts_with("time_to_") || !metric.ends_with("_s") || metric.size() <= 10) return std::nullopt;
  try {
    return parse_number(metric.substr(8, metric.size() - 10));
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

bool metric_needs_math(const std::string& metric) { return needs_math(metric) || threshold_of(metric); }

bool more_is_better(const std::string& metric) {
  const RunFigure* const figure = find_figure(metric);
  return figure && figure->better == RunFigure::Better::more;
}

std::string (*metric_text(const std::string& metric))(double) {
  const RunFigure* const figure = find_figure(metric);
  const bool time = figure ? figure->unit == RunFigure::Unit::seconds : threshold_of(metric).has_value();
  return time ? readable_seconds : readable_number;
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
