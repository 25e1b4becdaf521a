#include "scenarios/report/sweep_why.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/report/said_words.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

constexpr double no_change = 1.1;     // times: less is no change
constexpr double shown_share = 0.02;  // of the time: a phase that has less at both ends is not mentioned

/// A worker's time a sample in a phase.
double of_sample(const RunResult& run, Phase phase) {
  return run.samples > 0 ? run.workers * run.shares[phase].value_or(0) * run.simulated_seconds / run.samples : 0;
}

std::string change(const PhaseRow& row, double before, double after) {
  const double most = std::max(before, after), least = std::min(before, after);
  if (least > 0 && most < no_change * least) return fmt::format("{} stays at {}", row.title, readable_seconds(after));
  const std::string times = before > 0 && after >= 2 * before ? fmt::format(", {:.3g} times as long", after / before) : "";
  return fmt::format("{} {} from {} to {}{}", row.title, after > before ? "grows" : "shrinks", readable_seconds(before),
                     readable_seconds(after), times);
}

}  // namespace

std::vector<std::string> along_words(const SweepView& view, const ChartPlan& plan) {
  constexpr std::size_t most = 6;
  std::vector<std::string> all;
  if (!plan.x) return all;
  const ReportAxis& x = view.axes()[*plan.x];
  const std::vector<std::size_t> order = in_order(x);
  for (const std::vector<std::size_t>& facet : chosen_facets(view, plan)) {
    const std::size_t count = plan.series ? view.axes()[*plan.series].labels.size() : 1;
    for (std::size_t series = 0; series < count && all.size() < most; ++series) {
      std::vector<std::size_t> ends;
      for (const std::size_t value : order)
        if (const auto at = setting_of(view, plan, facet, value, {}, series); at && view.result(*at).samples > 0) ends.push_back(*at);
      if (ends.size() < 2) continue;
      const RunResult first = view.result(ends.front()), last = view.result(ends.back());
      std::vector<std::string> parts;
      for (const PhaseRow& row : summary_phases)
        if (std::max(first.shares[row.phase].value_or(0), last.shares[row.phase].value_or(0)) >= shown_share)
          parts.push_back(change(row, of_sample(first, row.phase), of_sample(last, row.phase)));
      if (parts.empty()) continue;
      Said where = facet_said(view, plan, facet);
      std::string who = page_words(where);
      if (plan.series) who = view.axes()[*plan.series].labels[series] + (who.empty() ? "" : ", ") + who;
      const auto label = [&](std::size_t setting) { return x.labels[view.settings()[setting].at[*plan.x]]; };
      all.push_back(fmt::format("{}From {} {} to {}, of a worker's time a sample: {}.", who.empty() ? "" : capital(who) + ": ", x.title,
                                label(ends.front()), label(ends.back()), fmt::format("{}", fmt::join(parts, "; "))));
    }
  }
  return all;
}

void mark_peak(Curve& curve, const NumberAxis& x, NumberText text, bool less_is_better) {
  if (curve.points.size() < 3) return;
  const auto better = [less_is_better](const ChartPoint& a, const ChartPoint& b) {
    return less_is_better ? a.mean < b.mean : a.mean > b.mean;
  };
  const auto peak = std::min_element(curve.points.begin(), curve.points.end(), better);
  const auto name = [&](const ChartPoint& point) {
    for (std::size_t i = 0; i < x.labels.size(); ++i)
      if (x.numbers[i] == point.x) return x.labels[i];
    return readable_number(point.x);
  };
  const double first = curve.points.front().mean, gain = std::abs(peak->mean - first);
  if (gain <= 0.02 * std::abs(first)) return;
  if (peak + 1 != curve.points.end())
    curve.notes.push_back({peak->x, peak->mean, fmt::format("peak {} at {}", text(peak->mean), name(*peak))});
  const auto knee = std::find_if(curve.points.begin(), peak, [&](const ChartPoint& point) {
    return std::abs(point.mean - first) >= knee_share * gain && (less_is_better ? point.mean < first : point.mean > first);
  });
  if (knee != peak && knee + 1 != peak + 1)
    curve.notes.push_back({knee->x, knee->mean, fmt::format("knee {} at {}", text(knee->mean), name(*knee))});
}

}  // namespace straggler
