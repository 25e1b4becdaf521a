// Measurement noise of rows, and their weights in a fit.
#pragma once
#include <optional>
#include <vector>

#include "validation/compare/claim_row.hpp"

namespace straggler {

/// Sets the rows' noise, estimated from repeats, and weights. `deviations`: [rows] standard deviation of a single measurement, a share of
/// the measured value; none: no column has it. `repeats`: [rows] number of measurements averaged in a row. Without deviations, rows with
/// equal settings are repeats: the pooled variance of their logarithms is the noise of every row. A ratio to another row has the noise of
/// both. Weights: 1 / noise² if every row has a deviation of its own, otherwise the number of repeats; their mean over the fitted rows is
/// 1.
void add_noise(std::vector<ClaimRow>& rows, const std::vector<std::optional<double>>& deviations, const std::vector<double>& repeats);

/// The mean error of a perfect prediction of rows with this noise: |N(0, noise)| is noise · sqrt(2/pi) on average. None if the noise of a
/// row is unknown or there are no rows.
std::optional<double> noise_floor(const std::vector<ClaimRow>& rows, RowUse use);

}  // namespace straggler
