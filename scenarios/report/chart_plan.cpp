#include "scenarios/report/chart_plan.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace straggler {

ChartPlan plan_of(const SweepView& view) {
  const std::vector<ReportAxis>& axes = view.axes();
  std::vector<std::size_t> numbers, words;
  for (std::size_t i = 0; i < axes.size(); ++i) (axes[i].numbers.empty() ? words : numbers).push_back(i);
  ChartPlan plan;
  const auto take = [](std::vector<std::size_t>& from, std::size_t at) {
    const std::size_t axis = from[at];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
    return axis;
  };
  const auto titled = [&](const std::vector<std::size_t>& among, const char* word, std::size_t otherwise) {
    const auto at = std::find_if(among.begin(), among.end(), [&](std::size_t i) { return axes[i].title.find(word) != std::string::npos; });
    return at == among.end() ? otherwise : static_cast<std::size_t>(at - among.begin());
  };
  if (!numbers.empty()) plan.x = take(numbers, titled(numbers, "bandwidth", numbers.size() - 1));
  if (!numbers.empty()) plan.y = take(numbers, titled(numbers, "workers", numbers.size() - 1));
  std::vector<std::size_t> rivals;
  std::copy_if(words.begin(), words.end(), std::back_inserter(rivals), [&](std::size_t i) { return !axes[i].workload; });
  if (!rivals.empty()) {
    plan.series = take(rivals, titled(rivals, "scheme", 0));
    std::erase(words, *plan.series);
  }
  plan.facets = std::move(numbers);
  plan.facets.insert(plan.facets.end(), words.begin(), words.end());
  std::sort(plan.facets.begin(), plan.facets.end());
  return plan;
}

namespace {

/// Facets all of whose values are `wanted(facet's axis, value)`.
template <class Wanted>
std::vector<std::vector<std::size_t>> facets_where(const SweepView& view, const ChartPlan& plan, const Wanted& wanted) {
  std::vector<std::vector<std::size_t>> all;
  for (const ReportSetting& setting : view.settings()) {
    std::vector<std::size_t> facet;
    bool is_wanted = true;
    for (std::size_t i = 0; i < plan.facets.size(); ++i) {
      facet.push_back(setting.at[plan.facets[i]]);
      is_wanted = is_wanted && wanted(i, facet.back());
    }
    if (is_wanted && std::find(all.begin(), all.end(), facet) == all.end()) all.push_back(std::move(facet));
  }
  return all;
}

}  // namespace

std::vector<std::vector<std::size_t>> facets_of(const SweepView& view, const ChartPlan& plan) {
  return facets_where(view, plan, [](std::size_t, std::size_t) { return true; });
}

std::vector<ChartPlan> curve_plans(const SweepView& view, const ChartPlan& plan) {
  std::vector<std::size_t> numbers;
  if (plan.x) numbers.push_back(*plan.x);
  if (plan.y) numbers.push_back(*plan.y);
  for (const std::size_t axis : plan.facets)
    if (!view.axes()[axis].numbers.empty()) numbers.push_back(axis);
  std::vector<ChartPlan> plans;
  for (const std::size_t x : numbers) {
    ChartPlan curves{x, {}, plan.series, {}};
    if (!curves.series && numbers.size() > 1) curves.series = numbers[x == numbers[0] ? 1 : 0];
    for (std::size_t axis = 0; axis < view.axes().size(); ++axis)
      if (axis != x && axis != curves.series) curves.facets.push_back(axis);
    plans.push_back(std::move(curves));
  }
  return plans;
}

std::vector<std::size_t> chosen_values(const ReportAxis& axis, std::size_t most) {
  std::vector<std::size_t> order = in_order(axis);
  if (axis.numbers.empty() || order.size() <= most) return order;
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(order[i * (order.size() - 1) / (most - 1)]);
  return chosen;
}

std::vector<std::vector<std::size_t>> chosen_facets(const SweepView& view, const ChartPlan& plan) {
  std::vector<std::vector<bool>> chosen;  // [facets][values]
  for (const std::size_t axis : plan.facets) {
    chosen.emplace_back(view.axes()[axis].labels.size(), false);
    for (const std::size_t value : chosen_values(view.axes()[axis])) chosen.back()[value] = true;
  }
  return facets_where(view, plan, [&](std::size_t facet, std::size_t value) { return chosen[facet][value]; });
}

Said facet_said(const SweepView& view, const ChartPlan& plan, const std::vector<std::size_t>& facet) {
  std::vector<Said> all;
  for (std::size_t i = 0; i < facet.size(); ++i) all.push_back(said_of(view.axes()[plan.facets[i]], facet[i]));
  return joined(all);
}

std::vector<std::size_t> in_order(const ReportAxis& axis) {
  std::vector<std::size_t> order(axis.labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!axis.numbers.empty())
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return axis.numbers[a] < axis.numbers[b]; });
  return order;
}

std::optional<std::size_t> setting_of(const SweepView& view, const ChartPlan& plan, const std::vector<std::size_t>& facet,
                                      std::optional<std::size_t> x, std::optional<std::size_t> y, std::optional<std::size_t> series) {
  std::vector<std::size_t> at(view.axes().size(), 0);
  for (std::size_t i = 0; i < facet.size(); ++i) at[plan.facets[i]] = facet[i];
  if (plan.x) at[*plan.x] = x.value_or(0);
  if (plan.y) at[*plan.y] = y.value_or(0);
  if (plan.series) at[*plan.series] = series.value_or(0);
  return view.setting_at(at);
}

std::vector<std::size_t> rivals(const SweepView& view, const ChartPlan& plan, const std::vector<std::size_t>& facet,
                                std::optional<std::size_t> x, std::optional<std::size_t> y) {
  std::vector<std::size_t> all;
  const std::size_t count = plan.series ? view.axes()[*plan.series].labels.size() : 1;
  for (std::size_t series = 0; series < count; ++series)
    if (const auto setting = setting_of(view, plan, facet, x, y, series)) all.push_back(*setting);
  return all;
}

}  // namespace straggler
