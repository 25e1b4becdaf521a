#include "validation/compare/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/experiment/experiment.hpp"
#include "validation/compare/bands.hpp"
#include "validation/compare/minimize.hpp"
#include "validation/tables/least_squares.hpp"

namespace straggler {

namespace {

bool is_size(const FitParameter& parameter) { return parameter.dimension == Dimension::bytes; }

double scaled(const FitParameter& parameter, double unit) {
  if (unit <= 0) return parameter.from;
  if (unit >= 1) return parameter.to;
  if (parameter.log) return parameter.from * std::exp(unit * std::log(parameter.to / parameter.from));
  return parameter.from + unit * (parameter.to - parameter.from);
}

/// The optimizer sees every parameter scaled to [0, 1], logarithmically or linearly. A size is a whole number of bytes.
double from_unit(const FitParameter& parameter, double unit) {
  const double value = scaled(parameter, unit);
  return is_size(parameter) ? std::round(value) : value;
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
    // A parameter without a value starts in the middle.
    std::vector<double> own, middle(fit_.parameters.size(), 0.5);
    for (const FitParameter& parameter : fit_.parameters) {
      const std::optional<double> given = predictor_.given_value(parameter.paths.front(), parameter.dimension);
      own.push_back(given ? to_unit(parameter, *given) : 0.5);
    }
    Minimum minimum = descend(own), other = descend(middle);
    if (other.value < minimum.value) std::swap(minimum, other);
    minimum = polish(minimum, own);
    FitResult result;
    if (as_good(other, minimum)) result.other_values = values_at(other.at);
    result.converged = minimum.converged;
    result.values = values_at(minimum.at);
    describe(minimum, result);
    return result;
  }

 private:
  /// Other values whose residuals are indistinguishable from the best ones'.
  static bool as_good(const Minimum& other, const Minimum& best) {
    constexpr double no_difference = 1e-10, same_place = 0.01;
    if (other.value > best.value * 1.01 + no_difference) return false;
    for (std::size_t i = 0; i < best.at.size(); ++i)
      if (std::abs(other.at[i] - best.at[i]) > same_place) return true;
    return false;
  }

  static constexpr double no_error = 1e-16;  // residuals of 1e-8: finer than any table
  // For derivatives: shares of a range. A size moves by whole bytes, and what it decides by tensors or packets.
  static constexpr double fine_step = 1e-5, size_step = 5e-3;

  /// Levenberg-Marquardt, which takes few runs if the model is smooth.
  Minimum descend(const std::vector<double>& start) {
    const auto residuals_of = [&](const Matrix& points) { return weighted_residuals(points); };
    std::vector<double> steps;
    for (const FitParameter& parameter : fit_.parameters) steps.push_back(is_size(parameter) ? size_step : fine_step);
    Minimum found{least_squares_in_cube(residuals_of, start, steps, no_error), 0, true};
    found.value = sum_of_squares(found.at);
    const double at_start = sum_of_squares(start);  // a kink may have misled it
    return at_start < found.value ? Minimum{start, at_start, true} : found;
  }

  /// Derivative-free, coarse and then fine: unless rows are met exactly, the squares may have steps and kinks, in which descend() gets
  /// stuck.
  Minimum polish(const Minimum& from, const std::vector<double>& own) {
    constexpr double met = 1e-12;  // residuals of 1e-6: times are rounded to ticks
    if (from.value <= met) return from;
    constexpr double coarse = 1e-3;
    constexpr int rounds = 1;  // where the squares have steps, more rounds only find a luckier step
    return minimize([&](const std::vector<double>& at) { return sum_of_squares(at); }, {from.at, own}, no_error, coarse, rounds);
  }

  std::vector<double> values_at(const std::vector<double>& units) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < units.size(); ++i) values.push_back(from_unit(fit_.parameters[i], units[i]));
    return values;
  }

  double residual(std::size_t index, const std::vector<PlacedSet>& sets) {
    const auto [measured, predicted] = compare_row(rows_, index, predictor_, sets);
    constexpr double nothing = 1e-30;  // a prediction of 0 has no logarithm, but still counts as far off
    return fit_.log_errors ? std::log(std::max(predicted, nothing) / measured) : predicted / measured - 1;
  }

  /// [points][fitted rows], each by the root of its weight.
  Matrix weighted_residuals(const Matrix& points) {
    std::vector<std::vector<PlacedSet>> changes;
    for (const std::vector<double>& units : points) changes.push_back(sets_of(fit_, values_at(units)));
    try {
      prepare_rows(rows_, fitted_, predictor_, changes);
    } catch (const RunFailed&) {
      // reported below, for the points whose runs fail
    }
    Matrix out;
    for (const std::vector<PlacedSet>& sets : changes) {
      try {
        std::vector<double> row;
        for (const std::size_t index : fitted_) row.push_back(std::sqrt(rows_[index].weight) * residual(index, sets));
        out.push_back(std::move(row));
      } catch (const RunFailed&) {  // reject these values
        out.emplace_back(fitted_.size(), 1e3);
      }
    }
    return out;
  }

  double sum_of_squares(const std::vector<double>& units) {
    double sum = 0;
    const Matrix residuals = weighted_residuals({units});
    for (const double each : residuals.front()) sum += each * each;
    return sum;
  }

  /// Points slightly below and above the minimum in each parameter, and their distance.
  struct Neighbours {
    std::vector<std::vector<PlacedSet>> below, above;
    std::vector<double> apart;
  };
  Neighbours neighbours_of(const Minimum& minimum) const {
    Neighbours out;
    for (std::size_t p = 0; p < minimum.at.size(); ++p) {
      const double step = is_size(fit_.parameters[p]) ? size_step : 1e-4;
      std::vector<double> below = minimum.at, above = minimum.at;
      below[p] = std::max(0.0, below[p] - step);
      above[p] = std::min(1.0, above[p] + step);
      out.apart.push_back(above[p] - below[p]);
      out.below.push_back(sets_of(fit_, values_at(below)));
      out.above.push_back(sets_of(fit_, values_at(above)));
    }
    return out;
  }
  void prepare_neighbours(const std::vector<std::size_t>& indices, const Neighbours& neighbours) {
    prepare_rows(rows_, indices, predictor_, neighbours.below);
    prepare_rows(rows_, indices, predictor_, neighbours.above);
  }

  void describe(const Minimum& minimum, FitResult& result) {
    const std::size_t count = minimum.at.size();
    const Neighbours neighbours = neighbours_of(minimum);
    prepare_neighbours(fitted_, neighbours);
    Matrix jacobian(fitted_.size(), std::vector<double>(count));
    for (std::size_t p = 0; p < count; ++p) {
      bool any = false;
      for (std::size_t r = 0; r < fitted_.size(); ++r) {
        jacobian[r][p] = (residual(fitted_[r], neighbours.above[p]) - residual(fitted_[r], neighbours.below[p])) / neighbours.apart[p];
        any = any || std::abs(jacobian[r][p]) > 1e-7;
      }
      const FitParameter& parameter = fit_.parameters[p];
      FittedValue value{parameter.paths, parameter.dimension, result.values[p], std::nullopt};
      value.flat = !any;
      value.no_effect = !any && !matters(minimum.at, p);
      constexpr double at_end = 1e-3;  // share of the range
      value.at_bound = minimum.at[p] < at_end || minimum.at[p] > 1 - at_end;
      result.described.push_back(std::move(value));
    }
    std::vector<double> residuals, weights;
    const std::vector<PlacedSet> best = sets_of(fit_, result.values);
    for (const std::size_t index : fitted_) {
      residuals.push_back(residual(index, best));
      weights.push_back(rows_[index].weight);
    }
    const std::optional<FitSpread> spread = spread_of(jacobian, residuals, weights);
    if (const std::optional<Matrix> covariance = spread ? std::optional(spread->covariance) : covariance_of_noise(jacobian))
      for (std::size_t p = 0; p < count; ++p) {
        const FitParameter& parameter = fit_.parameters[p];
        const double range = parameter.log ? result.values[p] * std::log(parameter.to / parameter.from) : parameter.to - parameter.from;
        result.described[p].uncertainty = std::sqrt((*covariance)[p][p]) * range;
      }
    add_bands(spread, neighbours, result);
  }

  /// Some value elsewhere in the range changes a fitted row.
  bool matters(std::vector<double> at, std::size_t parameter) {
    const Matrix here = weighted_residuals({at});
    for (const double unit : {0.0, 0.5, 1.0}) {
      at[parameter] = unit;
      const Matrix there = weighted_residuals({at});
      for (std::size_t r = 0; r < here.front().size(); ++r)
        if (std::abs(there.front()[r] - here.front()[r]) > 1e-7) return true;
    }
    return false;
  }

  /// Of the parameters, from the known noise of the fitted rows.
  std::optional<Matrix> covariance_of_noise(Matrix jacobian) const {
    for (std::size_t r = 0; r < fitted_.size(); ++r) {
      if (!rows_[fitted_[r]].noise) return std::nullopt;
      for (double& each : jacobian[r]) each /= *rows_[fitted_[r]].noise;
    }
    return inverse_normal(jacobian);
  }

  void add_bands(const std::optional<FitSpread>& spread, const Neighbours& neighbours, FitResult& result) {
    result.half_widths.resize(rows_.size());
    if (fitted_.size() <= neighbours.apart.size()) {
      result.no_band = "no degree of freedom is left to estimate the error of the fit";
      return;
    }
    if (!spread) {
      result.no_band = "the fitted rows do not separate the parameters";
      return;
    }
    if (!spread->left_out) {
      result.no_band = "each fitted row determines a parameter alone";
      return;
    }
    if (spread->quantile * *spread->left_out > std::log(widest_band)) {
      result.no_band = fmt::format("it would reach further than a factor of {:g} either way: too few rows are fitted", widest_band);
      return;
    }
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].use != RowUse::reference) wanted.push_back(i);
    prepare_neighbours(wanted, neighbours);
    for (const std::size_t index : wanted) {
      std::vector<double> gradient;
      for (std::size_t p = 0; p < neighbours.apart.size(); ++p)
        gradient.push_back(std::log(compare_row(rows_, index, predictor_, neighbours.above[p]).predicted /
                                    compare_row(rows_, index, predictor_, neighbours.below[p]).predicted) /
                           neighbours.apart[p]);
      const std::optional<double> half = band_half_width(*spread, gradient);
      if (half && std::isfinite(*half)) result.half_widths[index] = half;
    }
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
    for (const std::string& path : parameter.paths) sets.push_back({fmt::format("{}={}", path, text), parameter.place, who});
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

double SeedSpread::error() const { return deviation / std::sqrt(static_cast<double>(runs)); }

SeedSpread seed_spread(const std::vector<ClaimRow>& rows, std::size_t index, Predictor& predictor, const std::vector<PlacedSet>& more) {
  const ClaimRow& row = rows[index];
  std::vector<double> values = predictor.by_seed(row, more);
  if (row.relative_to) {
    // d(a / b) = (da - (a / b) db) / b: a row and its reference share the seeds, so that their chances may cancel.
    const std::vector<double> reference = predictor.by_seed(rows[*row.relative_to], more);
    const double below = mean_of(reference), ratio = mean_of(values) / below;
    values.resize(std::max(values.size(), reference.size()), values.front());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = (values[i] - ratio * reference[reference.size() == 1 ? 0 : i]) / below;
  }
  SeedSpread spread{values.size()};
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  if (values.size() > 1) spread.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return spread;
}

void prepare_rows(const std::vector<ClaimRow>& rows, const std::vector<std::size_t>& indices, Predictor& predictor,
                  const std::vector<std::vector<PlacedSet>>& changes) {
  std::vector<Wanted> wanted;
  for (const std::vector<PlacedSet>& sets : changes)
    for (const std::size_t index : indices) {
      wanted.push_back({&rows[index], &sets});
      if (rows[index].relative_to) wanted.push_back({&rows[*rows[index].relative_to], &sets});
    }
  predictor.prepare(wanted);
}

FitResult fit_parameters(const Claim& claim, const std::vector<ClaimRow>& rows, Predictor& predictor) {
  return Fitter(claim, rows, predictor).run();
}

}  // namespace straggler
