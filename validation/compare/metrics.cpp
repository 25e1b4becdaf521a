#include "validation/compare/metrics.hpp"

#include <algorithm>
#include <functional>

#include "scenarios/results/summary.hpp"
#include "validation/compare/claim.hpp"

namespace straggler {

namespace {

using Fields = std::vector<SummaryField>;

/// The older name of step_s.
std::optional<double> update_seconds(const Fields& fields) { return scalar_of(fields, "step_s").number(); }

/// Communication and idle, mean over workers.
std::optional<double> blocked_seconds_per_update(const Fields& fields) {
  const auto seconds = scalar_of(fields, "simulated_seconds").number(), updates = scalar_of(fields, "updates").number();
  const auto sends = scalar_of(fields, "communication_fraction").number(), waits = scalar_of(fields, "idle_fraction").number();
  if (!seconds || !updates || !(*updates > 0) || !sends || !waits) return std::nullopt;
  return (*sends + *waits) * *seconds / *updates;
}

/// Times that summary.json lacks.
struct DerivedMetric {
  const char* name;
  std::optional<double> (*of)(const Fields&);
};
constexpr DerivedMetric derived_metrics[] = {{"update_seconds", update_seconds},
                                             {"blocked_seconds_per_update", blocked_seconds_per_update}};

const DerivedMetric* find_derived(const std::string& metric) {
  const auto at =
      std::find_if(std::begin(derived_metrics), std::end(derived_metrics), [&](const DerivedMetric& each) { return metric == each.name; });
  return at == std::end(derived_metrics) ? nullptr : at;
}

/// The numeric columns of workers.csv, by their names there.
struct WorkerMetric {
  std::string name;
  std::function<std::optional<double>(const WorkerRecord&)> of;
};

const std::vector<WorkerMetric>& worker_metrics() {
  static const std::vector<WorkerMetric> all = [] {
    std::vector<WorkerMetric> metrics = {
        {"samples", [](const WorkerRecord& worker) { return static_cast<double>(worker.samples); }},
        {"updates", [](const WorkerRecord& worker) { return static_cast<double>(worker.updates); }},
    };
    for (const PhaseRow& row : phase_rows)
      metrics.push_back(
          {seconds_column(row.phase), [phase = row.phase](const WorkerRecord& worker) { return worker.split[phase].seconds(); }});
    metrics.push_back({"total_s", [](const WorkerRecord& worker) { return worker.split.total().seconds(); }});
    metrics.push_back({"bytes_sent", [](const WorkerRecord& worker) { return static_cast<double>(worker.bytes_sent); }});
    metrics.push_back({"bytes_received", [](const WorkerRecord& worker) { return static_cast<double>(worker.bytes_received); }});
    metrics.push_back({"staleness_mean", [](const WorkerRecord& worker) {
                         return worker.updates > 0
                                    ? std::optional(static_cast<double>(worker.staleness_sum) / static_cast<double>(worker.updates))
                                    : std::nullopt;
                       }});
    metrics.push_back({"staleness_max", [](const WorkerRecord& worker) {
                         return worker.updates > 0 ? std::optional(static_cast<double>(worker.staleness_max)) : std::nullopt;
                       }});
    return metrics;
  }();
  return all;
}

}  // namespace

std::optional<double> metric_of(const RunRecord& record, const std::string& metric) {
  const Fields fields = summarize(record);
  const DerivedMetric* const derived = find_derived(metric);
  return derived ? derived->of(fields) : scalar_of(fields, metric).number();
}

std::optional<double> worker_metric_of(const RunRecord& record, std::size_t rank, const std::string& metric) {
  for (const WorkerMetric& each : worker_metrics())
    if (metric == each.name) return each.of(record.workers.at(rank));
  return metric_of(record, metric);
}

const std::vector<std::string>& metric_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const SummaryField& field : summarize(RunRecord()))
      if (!holds_text(field.key)) names.push_back(field.key);
    for (const DerivedMetric& derived : derived_metrics) names.emplace_back(derived.name);
    return names;
  }();
  return all;
}

const std::vector<std::string>& worker_metric_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const WorkerMetric& metric : worker_metrics()) names.emplace_back(metric.name);
    return names;
  }();
  return all;
}

std::optional<Dimension> metric_dimension(const std::string& metric) {
  if (metric.ends_with("_s") || metric.ends_with("_seconds") || find_derived(metric)) return Dimension::time;
  if (metric.starts_with("bytes_")) return Dimension::bytes;
  return std::nullopt;
}

}  // namespace straggler
