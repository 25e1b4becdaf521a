#include <algorithm>

#include "scenarios/results/cost_reasons.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/search/search_said.hpp"

namespace straggler {
namespace {

/// ", because …": why the runs of `a` are ahead by the metric; empty: it is another metric, or it is not known.
Said why_ahead(const Metric& metric, const Measured& a, const Measured& b, const Said& b_name) {
  const std::optional<RunResult> first = mean_result(a.runs), second = mean_result(b.runs);
  if (!first || !second) return {};
  const auto said = [](const std::string& why) { return why.empty() ? Said() : Said(", " + why); };
  if (metric.name == "samples_per_second") return b.reached > 0 ? said(why_faster(*first, *second)) : Said();
  const std::optional<Measure> measure = measure_of(metric.name);
  if (!measure) return {};
  const bool whole = metric.name == row_of(*measure).whole;
  if (whole && *measure == Measure::time) return {};
  const std::optional<double> threshold = whole                                       ? std::optional(0.0)
                                          : metric.name == row_of(*measure).to_target ? first->target_accuracy
                                                                                      : threshold_of(metric.name);
  if (*measure != Measure::time && threshold && b.reached > 0) return said(why_less(row_of(*measure), *first, *second, *threshold));
  const ThresholdResult* const at = threshold ? find_threshold(*first, *threshold) : nullptr;
  if (at == nullptr || !at->seconds) return {};
  if (b.reached > 0) return said(why_sooner(*first, *second, *threshold));
  return Said(", which ").add(b_name).add(" " + how_missed(*first, *second, *threshold));
}

void add_reason(const SearchOutcome& outcome, const FoundGroup& group, std::vector<Said>& reasons) {
  if (!group.best) return;
  std::optional<std::size_t> other;
  for (std::size_t i = 0; i < group.points.size(); ++i) {
    if (group.as_good(i) || group.is_best(i)) continue;
    if (!other || is_ahead(group.points[i].measured.contender(), group.points[*other].measured.contender(), outcome.metric.maximize))
      other = i;
  }
  if (!other) return;
  const FoundPoint &best = group.points[group.best->point], &next = group.points[*other];
  const Said name = settings_said(outcome, next);
  const Said why = why_ahead(outcome.metric, best.measured, next.measured, name);
  if (!why.empty())
    reasons.push_back(group_said(outcome, group.labels).add(settings_said(outcome, best)).add(" is ahead of ").add(name).add(why));
}

void add_reasons(const SearchOutcome& outcome, const CrossoverGroup& group, std::vector<Said>& reasons) {
  std::vector<const ComparedPoint*> ends;
  if (!group.points.empty()) ends.push_back(&group.points.front());
  if (group.points.size() > 1) ends.push_back(&group.points.back());
  for (const ComparedPoint* const point : ends) {
    if (point->better() == Winner::neither) continue;
    const auto& [a, b] = point->measured;
    const bool second = point->better() == Winner::second;
    const std::string ahead = outcome.name_of(point->better()), other = outcome.name_of(second ? Winner::first : Winner::second);
    const Said why = why_ahead(outcome.metric, second ? b : a, second ? a : b, Said(other));
    if (why.empty()) continue;
    reasons.push_back(group_said(outcome, group.labels, ", ")
                          .add("at ")
                          .add(SaidSetting{outcome.along.path, point->at.label})
                          .add(", " + ahead + " is ahead of " + other)
                          .add(why));
  }
}

}  // namespace

std::vector<Said> search_reasons(const SearchOutcome& outcome) {
  std::vector<Said> reasons;
  for (const FoundGroup& group : outcome.found) add_reason(outcome, group, reasons);
  for (const CrossoverGroup& group : outcome.crossed) add_reasons(outcome, group, reasons);
  return reasons;
}

}  // namespace straggler
