// What somebody without a simulator would say: a line through the fitted rows.
#pragma once
#include <optional>
#include <utility>
#include <vector>

namespace straggler {

/// Piecewise linear in the logarithms of x and y through `points` (any order; of equal x, the geometric mean), its first and last piece
/// drawn on beyond them; flat if there is one x only. None without points, or where a coordinate is not above 0.
std::optional<double> interpolate_logs(std::vector<std::pair<double, double>> points, double x);

}  // namespace straggler
