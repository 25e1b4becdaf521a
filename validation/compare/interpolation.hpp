// Baselines without a simulator: interpolation of the fitted rows.
#pragma once
#include <optional>
#include <utility>
#include <vector>

namespace straggler {

/// Piecewise linear in the logarithms of x and y through `points` (any order; of equal x, the geometric mean), its first and last piece
/// extrapolated; constant if there is only one x. None without points, or where a coordinate is not above 0.
std::optional<double> interpolate_logs(std::vector<std::pair<double, double>> points, double x);

/// The power law y = c · Πxᵢ^bᵢ nearest to the points by least squares of logarithms, at `x`. None where a coordinate is not above 0, or
/// where the points do not determine it.
std::optional<double> power_law(const std::vector<std::vector<double>>& xs, const std::vector<double>& ys, const std::vector<double>& x);

/// One known row, scaled: y · Π (x[at]ᵢ / xᵢ)^eᵢ at each of `xs`, where every eᵢ is -1, 0 or 1, and the same for all rows: the eᵢ nearest
/// to `measured` in the mean, as if the direction of each column were known. None where a coordinate is not above 0, and with more than 8
/// columns.
std::optional<std::vector<double>> scale_linearly(const std::vector<double>& x, double y, const std::vector<std::vector<double>>& xs,
                                                  const std::vector<double>& measured);

}  // namespace straggler
