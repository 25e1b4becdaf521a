// How exactly rows were measured, and how much each counts in a fit for that.
#pragma once
#include <optional>
#include <vector>

#include "validation/compare/claim_row.hpp"

namespace straggler {

/// Gives rows the noise that repeats tell of, and weights. `deviations`: [rows] standard deviation of a single measurement, a share of the
/// measured value; none: no column has it. `repeats`: [rows] how many measurements a row is the mean of.
/// Without deviations, rows that are set up alike are repeats: the pooled variance of their logarithms is the noise of every row.
/// A ratio to another row has the noise of both. Weights: 1 / noise² where every row has a deviation of its own, else the number of
/// repeats; their mean over the fitted rows is 1.
void add_noise(std::vector<ClaimRow>& rows, const std::vector<std::optional<double>>& deviations, const std::vector<double>& repeats);

/// The mean error that a perfect prediction of rows with this noise has: |N(0, noise)| is noise · sqrt(2/pi) on average. None where the
/// noise of a row is not known, or there are no rows.
std::optional<double> noise_floor(const std::vector<ClaimRow>& rows, RowUse use);

}  // namespace straggler
