#include "validation/compare/fit.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/experiment/experiment.hpp"
#include "validation/compare/minimize.hpp"
#include "validation/tables/least_squares.hpp"

namespace straggler {

namespace {

/// The optimizer sees every parameter from 0 to 1: by logarithms, or linearly.
double from_unit(const FitParameter& parameter, double unit) {
  if (unit <= 0) return parameter.from;
  if (unit >= 1) return parameter.to;
  if (parameter.log) return parameter.from * std::exp(unit * std::log(parameter.to / parameter.from));
  return parameter.from + unit * (parameter.to - parameter.from);
}

double to_unit(const FitParameter& parameter, double value) {
  const double clipped = std::clamp(value, parameter.from, parameter.to);
  if (parameter.log) return std::log(clipped / parameter.from) / std::log(parameter.to / parameter.from);
  return (clipped - parameter.from) / (parameter.to - parameter.from);
}

class Fitter {
 public:
  Fitter(const Claim& claim, const std::vector<ClaimRow>& rows, Predictor& predictor)
      : fit_(*claim.fit), rows_(rows), predictor_(predictor) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].use == RowUse::fitted) fitted_.push_back(i);
  }

  FitResult run() {
    // A parameter that has no value of its own starts in the middle.
    std::vector<double> own, middle(fit_.parameters.size(), 0.5);
    for (const FitParameter& parameter : fit_.parameters) {
      const std::optional<double> given = predictor_.given_value(parameter.paths.front(), parameter.dimension);
      own.push_back(given ? to_unit(parameter, *given) : 0.5);
    }
    constexpr double no_error = 1e-16;  // residuals of 1e-8: no table is that fine
    const auto squares = [&](const std::vector<double>& at) { return sum_of_squares(at); };
    Minimum minimum = minimize(squares, {own}, no_error), other = minimize(squares, {middle}, no_error);
    if (other.value < minimum.value) std::swap(minimum, other);
    FitResult result;
    if (as_good(other, minimum)) result.other_values = values_at(other.at);
    result.converged = minimum.converged;
    result.values = values_at(minimum.at);
    result.described = describe(minimum, result.values);
    return result;
  }

 private:
  /// Other values leave residuals that nobody would tell from the best ones'.
  static bool as_good(const Minimum& other, const Minimum& best) {
    constexpr double no_difference = 1e-10, same_place = 0.01;
    if (other.value > best.value * 1.01 + no_difference) return false;
    for (std::size_t i = 0; i < best.at.size(); ++i)
      if (std::abs(other.at[i] - best.at[i]) > same_place) return true;
    return false;
  }

  std::vector<double> values_at(const std::vector<double>& units) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < units.size(); ++i) values.push_back(from_unit(fit_.parameters[i], units[i]));
    return values;
  }

  std::vector<double> residuals(const std::vector<double>& values) {
    const std::vector<PlacedSet> sets = sets_of(fit_, values);
    std::vector<double> all;
    for (const std::size_t index : fitted_) {
      const auto [measured, predicted] = compare_row(rows_, index, predictor_, sets);
      constexpr double nothing = 1e-30;  // a prediction of 0 has no logarithm, and is far off all the same
      all.push_back(fit_.log_errors ? std::log(std::max(predicted, nothing) / measured) : predicted / measured - 1);
    }
    return all;
  }

  double sum_of_squares(const std::vector<double>& units) {
    try {
      double sum = 0;
      for (const double residual : residuals(values_at(units))) sum += residual * residual;
      return sum;
    } catch (const RunFailed&) {
      return 1e6;  // such values are not the ones
    }
  }

  std::vector<FittedValue> describe(const Minimum& minimum, const std::vector<double>& values) {
    constexpr double step = 1e-4;
    const std::size_t count = values.size();
    Matrix jacobian(fitted_.size(), std::vector<double>(count));
    std::vector<FittedValue> out;
    for (std::size_t p = 0; p < count; ++p) {
      std::vector<double> below = minimum.at, above = minimum.at;
      below[p] = std::max(0.0, below[p] - step);
      above[p] = std::min(1.0, above[p] + step);
      const std::vector<double> low = residuals(values_at(below)), high = residuals(values_at(above));
      bool any = false;
      for (std::size_t r = 0; r < low.size(); ++r) {
        jacobian[r][p] = (high[r] - low[r]) / (above[p] - below[p]);
        any = any || std::abs(jacobian[r][p]) > 1e-7;
      }
      const FitParameter& parameter = fit_.parameters[p];
      FittedValue value{parameter.paths, parameter.dimension, values[p], std::nullopt, false, !any};
      value.at_bound = minimum.at[p] < 1e-6 || minimum.at[p] > 1 - 1e-6;
      out.push_back(std::move(value));
    }
    if (fitted_.size() <= count) return out;
    const std::optional<std::vector<double>> inverse = inverse_normal_diagonal(jacobian);
    if (!inverse) return out;
    const double variance = minimum.value / static_cast<double>(fitted_.size() - count);
    for (std::size_t p = 0; p < count; ++p) {
      const FitParameter& parameter = fit_.parameters[p];
      const double unit_error = std::sqrt(variance * (*inverse)[p]);
      out[p].uncertainty =
          unit_error * (parameter.log ? values[p] * std::log(parameter.to / parameter.from) : parameter.to - parameter.from);
    }
    return out;
  }

  const Fit& fit_;
  const std::vector<ClaimRow>& rows_;
  Predictor& predictor_;
  std::vector<std::size_t> fitted_;
};

}  // namespace

std::vector<PlacedSet> sets_of(const Fit& fit, const std::vector<double>& values) {
  std::vector<PlacedSet> sets;
  for (std::size_t i = 0; i < fit.parameters.size(); ++i) {
    const FitParameter& parameter = fit.parameters[i];
    const std::string text = format_amount(values[i], parameter.dimension), who = "fit.parameters[" + std::to_string(i) + "]";
    for (const std::string& path : parameter.paths) sets.push_back({path + "=" + text, parameter.place, who});
  }
  return sets;
}

Pair compare_row(const std::vector<ClaimRow>& rows, std::size_t index, Predictor& predictor, const std::vector<PlacedSet>& more) {
  const ClaimRow& row = rows[index];
  Pair pair{row.measured, predictor.predict(row, more)};
  if (row.relative_to) {
    const ClaimRow& reference = rows[*row.relative_to];
    pair.measured /= reference.measured;
    pair.predicted /= predictor.predict(reference, more);
  }
  return pair;
}

FitResult fit_parameters(const Claim& claim, const std::vector<ClaimRow>& rows, Predictor& predictor) {
  return Fitter(claim, rows, predictor).run();
}

}  // namespace straggler
