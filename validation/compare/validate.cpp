#include "validation/compare/validate.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "validation/compare/fit.hpp"
#include "validation/compare/interpolation.hpp"

namespace straggler {

namespace {

/// The bound column of numbers that is the only one to vary over the rows; none if there is no such column.
std::optional<std::size_t> varying_column(const Claim& claim, const std::vector<ClaimRow>& rows) {
  std::optional<std::size_t> only;
  for (std::size_t b = 0; b < claim.bind.size(); ++b) {
    const bool varies = std::any_of(rows.begin(), rows.end(), [&](const ClaimRow& row) { return row.bound[b] != rows.front().bound[b]; });
    if (!varies) continue;
    if (only || !claim.bind[b].values.empty()) return std::nullopt;
    only = b;
  }
  return only;
}

void interpolate(ClaimResult& result) {
  std::vector<ClaimRow> rows;
  for (const RowResult& row : result.rows) rows.push_back(row.row);
  const std::optional<std::size_t> column = varying_column(result.claim, rows);
  if (!column || result.fitted.rows == 0) return;
  std::vector<double> errors;
  try {
    std::vector<std::pair<double, double>> points;
    for (const RowResult& row : result.rows)
      if (row.row.use == RowUse::fitted) points.emplace_back(parse_number(row.row.bound[*column]), row.measured);
    for (RowResult& row : result.rows) {
      if (row.row.use != RowUse::held_out) continue;
      row.interpolated = interpolate_logs(points, parse_number(row.row.bound[*column]));
      if (!row.interpolated) return;
      errors.push_back(*row.interpolated / row.measured - 1);
    }
  } catch (const std::invalid_argument&) {
    return;  // words, not numbers
  }
  result.interpolation = scores_of(errors);
}

std::vector<double> errors_of(const std::vector<RowResult>& rows, RowUse use) {
  std::vector<double> errors;
  for (const RowResult& row : rows)
    if (row.row.use == use) errors.push_back(row.error);
  return errors;
}

}  // namespace

Scores scores_of(const std::vector<double>& errors) {
  constexpr double none = 1e-9;
  Scores scores;
  scores.rows = errors.size();
  for (const double error : errors) {
    scores.mape += std::abs(error) / static_cast<double>(errors.size());
    scores.max = std::max(scores.max, std::abs(error));
    scores.signs += std::abs(error) < none ? '0' : error > 0 ? '+' : '-';
  }
  return scores;
}

ClaimResult validate(const Claim& claim, const PredictOptions& options) {
  const std::vector<ClaimRow> rows = read_rows(claim);
  Predictor predictor(claim, options);
  ClaimResult result;
  result.claim = claim;
  std::vector<PlacedSet> sets;
  if (claim.fit) {
    FitResult fit = fit_parameters(claim, rows, predictor);
    sets = sets_of(*claim.fit, fit.values);
    result.fitted_values = std::move(fit.described);
    result.converged = fit.converged;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [measured, predicted] = compare_row(rows, i, predictor, sets);
    const double unit = rows[i].relative_to ? 1 : claim.compare.factor;
    result.rows.push_back({rows[i], measured / unit, predicted / unit, predicted / measured - 1, std::nullopt});
  }
  result.fitted = scores_of(errors_of(result.rows, RowUse::fitted));
  result.held_out = scores_of(errors_of(result.rows, RowUse::held_out));
  if (claim.fit) result.degrees_of_freedom = static_cast<int>(result.fitted.rows) - static_cast<int>(claim.fit->parameters.size());
  interpolate(result);
  result.runs = predictor.runs();
  result.mape_holds = !claim.bound_mape || result.held_out.mape <= *claim.bound_mape;
  result.max_holds = !claim.bound_max || result.held_out.max <= *claim.bound_max;
  return result;
}

void check_claim(const Claim& claim) {
  const std::vector<ClaimRow> rows = read_rows(claim);
  const Predictor predictor(claim, {});
  std::vector<Predictor::Told> wrong;
  for (const bool low : {true, false}) {
    std::vector<double> values;
    if (claim.fit)
      for (const FitParameter& parameter : claim.fit->parameters) values.push_back(low ? parameter.from : parameter.to);
    const std::vector<PlacedSet> sets = claim.fit ? sets_of(*claim.fit, values) : std::vector<PlacedSet>();
    for (const ClaimRow& row : rows) predictor.check(row, sets, wrong);
  }
  std::vector<std::string> lines;
  for (Predictor::Told& told : wrong) lines.push_back(std::move(told.line));
  if (!lines.empty()) throw ScenarioErrors(std::move(lines));
}

}  // namespace straggler
