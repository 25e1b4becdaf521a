#include "validation/compare/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "validation/compare/interpolation.hpp"
#include "validation/compare/noise.hpp"

namespace straggler {

namespace {

/// The bound columns that vary over the rows.
std::vector<std::size_t> varying_columns(const Claim& claim, const std::vector<RowResult>& rows) {
  std::vector<std::size_t> columns;
  for (std::size_t b = 0; b < claim.bind.size(); ++b) {
    const auto differs = [&](const RowResult& row) { return row.row.bound[b].text != rows.front().row.bound[b].text; };
    if (std::any_of(rows.begin(), rows.end(), differs)) columns.push_back(b);
  }
  return columns;
}

/// The cells of a column; none if one of them is a word.
std::optional<std::vector<double>> numbers_in(const Claim& claim, const std::vector<RowResult>& rows, std::size_t column) {
  if (claim.bind[column].words()) return std::nullopt;
  std::vector<double> all;
  for (const RowResult& row : rows) {
    const std::optional<double> number = row.row.bound[column].number;
    if (!number) return std::nullopt;
    all.push_back(*number);
  }
  return all;
}

/// Of a held-out row whose columns have the values `at`, from the fitted ones; xs[rows][columns].
std::optional<double> interpolated(const std::vector<RowResult>& rows, const std::vector<std::vector<double>>& xs, std::size_t at) {
  std::vector<std::vector<double>> fitted;
  std::vector<double> ys;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].row.use != RowUse::fitted) continue;
    fitted.push_back(xs[i]);
    ys.push_back(rows[i].measured);
  }
  if (xs[at].size() > 1) return power_law(fitted, ys, xs[at]);
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; i < fitted.size(); ++i) points.emplace_back(fitted[i].front(), ys[i]);
  return interpolate_logs(std::move(points), xs[at].front());
}

/// The varying columns are constant among the fitted rows: these are one row, perhaps measured several times.
bool alike_where_fitted(const std::vector<RowResult>& rows, const std::vector<std::vector<double>>& xs) {
  const std::vector<double>* first = nullptr;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].row.use != RowUse::fitted) continue;
    if (first != nullptr && xs[i] != *first) return false;
    first = &xs[i];
  }
  return true;
}

/// From the one fitted row (the geometric mean of several) to the held-out ones. False: impossible.
bool lay_linear_scaling(ClaimResult& result, const std::vector<std::vector<double>>& xs, std::vector<std::optional<double>>& values) {
  const std::vector<double>* x = nullptr;
  double logs = 0;
  std::vector<std::vector<double>> held_out;
  std::vector<double> measured;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const RowResult& row = result.rows[i];
    if (row.row.use == RowUse::fitted) {
      x = &xs[i];
      logs += std::log(row.measured) / static_cast<double>(result.fitted.rows);
    } else if (row.row.use == RowUse::held_out) {
      places.push_back(i);
      held_out.push_back(xs[i]);
      measured.push_back(row.measured);
    }
  }
  const std::optional<std::vector<double>> scaled = scale_linearly(*x, std::exp(logs), held_out, measured);
  if (!scaled) return false;
  for (std::size_t i = 0; i < places.size(); ++i) values[places[i]] = (*scaled)[i];
  result.linear_scaling = true;
  return true;
}

/// Interpolates; returns why that is impossible, or "".
std::string interpolate(ClaimResult& result) {
  const std::vector<std::size_t> columns = varying_columns(result.claim, result.rows);
  if (result.fitted.rows == 0) return "no row is fitted";
  if (columns.empty()) return "no bound column varies";
  std::vector<std::vector<double>> xs(result.rows.size());
  for (const std::size_t column : columns) {
    const std::string& name = result.claim.bind[column].column;
    const std::optional<std::vector<double>> numbers = numbers_in(result.claim, result.rows, column);
    if (!numbers) return "words vary: " + name;
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      if (!((*numbers)[i] > 0)) return name + " is not above 0 in every row, which a logarithm needs";
      xs[i].push_back((*numbers)[i]);
    }
  }
  std::vector<std::optional<double>> values(result.rows.size());
  if (alike_where_fitted(result.rows, xs)) {
    if (!lay_linear_scaling(result, xs, values)) return "more than 8 columns vary";
  } else {
    for (std::size_t i = 0; i < result.rows.size(); ++i) {
      if (result.rows[i].row.use != RowUse::held_out) continue;
      values[i] = interpolated(result.rows, xs, i);
      if (!values[i]) return "the fitted rows are too few, or too alike, for the columns that vary";
    }
  }
  std::vector<double> errors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) errors.push_back(*values[i] / result.rows[i].measured - 1);
    result.rows[i].interpolated = values[i];
  }
  result.interpolation = scores_of(errors);
  return {};
}

std::vector<double> errors_of(const std::vector<RowResult>& rows, RowUse use) {
  std::vector<double> errors;
  for (const RowResult& row : rows)
    if (row.row.use == use) errors.push_back(row.error);
  return errors;
}

/// Extrapolated columns of a held-out row: a number above or below those of all fitted rows, or a word that none of them has.
std::vector<std::string> beyond_fitted(const Claim& claim, const std::vector<ClaimRow>& rows, const ClaimRow& row) {
  std::vector<std::string> beyond;
  for (std::size_t b = 0; b < claim.bind.size(); ++b) {
    const MeasuredCell& cell = row.bound[b];
    double low = std::numeric_limits<double>::infinity(), high = -low;
    bool numbers = cell.number && !claim.bind[b].words(), there = false;
    for (const ClaimRow& fitted : rows) {
      if (fitted.use != RowUse::fitted) continue;
      there = there || fitted.bound[b].like(cell);
      numbers = numbers && fitted.bound[b].number;
      if (!numbers) continue;
      low = std::min(low, *fitted.bound[b].number);
      high = std::max(high, *fitted.bound[b].number);
    }
    const std::string& column = claim.bind[b].column;
    if (numbers && *cell.number > high)
      beyond.push_back(fmt::format("{} {} above {:.6g}", column, cell.text, high));
    else if (numbers && *cell.number < low)
      beyond.push_back(fmt::format("{} {} below {:.6g}", column, cell.text, low));
    else if (!numbers && !there)
      beyond.push_back(fmt::format("{} {} not fitted", column, cell.text));
  }
  return beyond;
}

SeedSpread in_unit(SeedSpread spread, double unit) {
  spread.deviation /= unit;
  return spread;
}

void add_bands(ClaimResult& result, const std::vector<std::optional<double>>& half_widths) {
  for (std::size_t i = 0; i < half_widths.size(); ++i) {
    if (!half_widths[i]) continue;
    RowResult& row = result.rows[i];
    row.low = row.predicted * std::exp(-*half_widths[i]);
    row.high = row.predicted * std::exp(*half_widths[i]);
    if (row.row.use == RowUse::held_out && *row.inside()) ++result.inside;
  }
}

/// Fitted rows must meet the same bound, and fitted values must lie inside their ranges: otherwise the fit failed.
void judge(ClaimResult& result) {
  const Claim& claim = result.claim;
  const auto within = [](double value, std::optional<double> bound) { return !bound || value <= *bound; };
  result.mape_holds = within(result.held_out.mape, claim.bound_mape);
  result.max_holds = within(result.held_out.max, claim.bound_max);
  result.fitted_hold = within(result.fitted.mape, claim.bound_mape) && within(result.fitted.max, claim.bound_max);
  result.inside_range =
      std::none_of(result.fitted_values.begin(), result.fitted_values.end(), [](const FittedValue& value) { return value.at_bound; });
}

/// A fitted parameter must be continuous within its range, which a count is not.
void check_continuous(const Claim& claim, const Predictor& predictor, const ClaimRow& row) {
  constexpr double inside = 0.6180339887498949;
  const Fit& fit = *claim.fit;
  std::vector<double> ends;
  for (const FitParameter& parameter : fit.parameters) ends.push_back(parameter.from);
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < fit.parameters.size(); ++i) {
    const FitParameter& parameter = fit.parameters[i];
    std::vector<double> values = ends;
    values[i] = parameter.from + inside * (parameter.to - parameter.from);
    const std::string who = "fit.parameters[" + std::to_string(i) + "]";
    std::vector<Predictor::Told> wrong;
    predictor.check(row, sets_of(fit, values), wrong);
    if (std::any_of(wrong.begin(), wrong.end(), [&](const Predictor::Told& told) {
          return told.mistake.path == who && told.mistake.what.find("is not a whole number") != std::string::npos;
        }))
      problems.push_back(claim.places->problem(
          parameter.place, who, parameter.paths.front() + " is a whole number, which cannot be fitted; set it, or bind it to a column"));
  }
  if (!problems.empty()) throw ScenarioErrors(std::move(problems));
}

}  // namespace

Scores scores_of(const std::vector<double>& errors) {
  constexpr double none = 1e-6;
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
  std::vector<std::optional<double>> half_widths;
  if (claim.fit) {
    FitResult fit = fit_parameters(claim, rows, predictor);
    sets = sets_of(*claim.fit, fit.values);
    result.fitted_values = std::move(fit.described);
    result.other_values = std::move(fit.other_values);
    result.converged = fit.converged;
    half_widths = std::move(fit.half_widths);
    result.no_band = std::move(fit.no_band);
  } else {
    result.no_band = "nothing is fitted";
  }
  std::vector<std::size_t> all(rows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  prepare_rows(rows, all, predictor, {sets});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [measured, predicted] = compare_row(rows, i, predictor, sets);
    const double unit = rows[i].relative_to ? 1 : claim.compare.factor;
    RowResult row{rows[i], measured / unit, predicted / unit, predicted / measured - 1};
    if (claim.fit && rows[i].use == RowUse::held_out) row.outside = beyond_fitted(claim, rows, rows[i]);
    if (!row.outside.empty()) ++result.outside;
    if (claim.seeds > 1) row.seeds = in_unit(seed_spread(rows, i, predictor, sets), unit);
    result.rows.push_back(std::move(row));
  }
  add_bands(result, half_widths);
  result.fitted = scores_of(errors_of(result.rows, RowUse::fitted));
  result.held_out = scores_of(errors_of(result.rows, RowUse::held_out));
  if (claim.fit) result.degrees_of_freedom = static_cast<int>(result.fitted.rows) - static_cast<int>(claim.fit->parameters.size());
  result.no_interpolation = interpolate(result);
  result.noise_floor = noise_floor(rows, RowUse::held_out);
  result.runs = predictor.runs();
  judge(result);
  return result;
}

void check_claim(const Claim& claim) {
  const std::vector<ClaimRow> rows = read_rows(claim);
  const Predictor predictor(claim, {});
  if (claim.fit) check_continuous(claim, predictor, rows.front());
  std::vector<Predictor::Told> wrong;
  for (const bool low : {true, false}) {
    std::vector<double> values;
    if (claim.fit)
      for (const FitParameter& parameter : claim.fit->parameters) values.push_back(low ? parameter.from : parameter.to);
    const std::vector<PlacedSet> sets = claim.fit ? sets_of(*claim.fit, values) : std::vector<PlacedSet>();
    for (const ClaimRow& row : rows) predictor.check(row, sets, wrong);
  }
  std::vector<Problem> problems;
  for (Predictor::Told& told : wrong) problems.push_back(std::move(told.problem));
  if (!problems.empty()) throw ScenarioErrors(std::move(problems));
}

}  // namespace straggler
