// The roles of a sweep's axes in its pictures.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/report/sweep_view.hpp"

namespace straggler {

/// Indices of the view's axes.
struct ChartPlan {
  std::optional<std::size_t> x, y;    // numbers; y only with x
  std::optional<std::size_t> series;  // words that are compared: one curve, one colour each
  std::vector<std::size_t> facets;    // a picture for each combination of their values
};

/// Two axes of numbers span a map (bandwidth to the right, or else the axis that varies faster); a single one is the x of curves. Schemes
/// are compared, or else the first axis of words. Workloads do not compete: their words are facets.
ChartPlan plan_of(const SweepView& view);

/// Plans of curves: one over each axis of numbers, the map's right-hand one first, with the other axes as facets, except the compared one.
/// If no words are compared, the values of another axis of numbers are.
std::vector<ChartPlan> curve_plans(const SweepView& view, const ChartPlan& plan);

/// Representative values of an axis: at most `most` of numbers, evenly spread by rank with both ends; all of words.
std::vector<std::size_t> chosen_values(const ReportAxis& axis, std::size_t most = 3);

/// Those of facets_of() whose numbers are chosen ones: the smallest, the middle and the largest.
std::vector<std::vector<std::size_t>> chosen_facets(const SweepView& view, const ChartPlan& plan);

/// Values of the facets' axes with finished settings: [facets][plan.facets], in the sweep's order.
std::vector<std::vector<std::size_t>> facets_of(const SweepView& view, const ChartPlan& plan);
/// "precision fp16, workers 4"; empty without facets.
Said facet_said(const SweepView& view, const ChartPlan& plan, const std::vector<std::size_t>& facet);

/// Indices of an axis's values in the order of pictures: by number, else as the sweep has them.
std::vector<std::size_t> in_order(const ReportAxis& axis);

/// The setting of a facet at these values; none if it has no finished point.
std::optional<std::size_t> setting_of(const SweepView& view, const ChartPlan& plan, const std::vector<std::size_t>& facet,
                                      std::optional<std::size_t> x, std::optional<std::size_t> y, std::optional<std::size_t> series);
/// Those at x and y of all series.
std::vector<std::size_t> rivals(const SweepView& view, const ChartPlan& plan, const std::vector<std::size_t>& facet,
                                std::optional<std::size_t> x, std::optional<std::size_t> y);

}  // namespace straggler
