// Caveats of "holds" and "MISSED".
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "validation/compare/claim_results.hpp"

namespace straggler {

namespace {

/// A number without a source may have been chosen to make the claim hold.
void add_sources(const ClaimResult& result, std::vector<std::string>& warnings) {
  for (const FixedSet& set : result.claim.set)
    if (set.source.empty())
      warnings.push_back(fmt::format("set.{} has no source; write {}: {{value: {}, source: …}}", set.path, set.path, set.yaml));
}

/// Noise alone may push the held-out rows beyond the bound.
void add_noise_floor(const ClaimResult& result, std::vector<std::string>& warnings) {
  const std::optional<double> bound = result.claim.bound_mape;
  if (bound && result.noise_floor && *result.noise_floor > *bound)
    warnings.push_back(
        fmt::format("the noise of the measurement alone gives a MAPE of {}, more than the bound of {}: a model can meet it only by chance",
                    share(*result.noise_floor), share(*bound)));
}

/// Means of too few runs, or of runs that are all the same.
void add_seeds(const ClaimResult& result, std::vector<std::string>& warnings) {
  if (result.claim.seeds == 1) return;
  const std::optional<double> bound = result.claim.bound_max;
  std::size_t random = 0, uncertain = 0;
  for (const RowResult& row : result.rows) {
    random += row.seeds->runs > 1;
    uncertain += bound && row.seeds->error() / row.measured > *bound;
  }
  if (random == 0) warnings.push_back("no row depends on the seed; remove seeds");
  if (uncertain > 0)
    warnings.push_back(fmt::format("{} row{} a standard error above the largest error of {}: use more than {} seeds", uncertain,
                                   uncertain == 1 ? " has" : "s have", share(*bound), result.claim.seeds));
}

/// All predictions miss by the same known factor: more likely a wrong unit than a wrong model.
void add_unit_hint(const ClaimResult& result, std::vector<std::string>& warnings) {
  if (result.claim.compare.relative_to || result.rows.empty()) return;  // ratios have no unit
  constexpr double like = 1.25, spread = 2;
  double mean = 0, low = std::numeric_limits<double>::infinity(), high = 0;
  for (const RowResult& row : result.rows) {
    const double ratio = 1 + row.error;
    mean += std::log(ratio) / static_cast<double>(result.rows.size());
    low = std::min(low, ratio);
    high = std::max(high, ratio);
  }
  mean = std::exp(mean);
  if (!(low > mean / spread && high < mean * spread)) return;
  for (const double factor : {8.0, 60.0, 100.0, 1000.0, 3600.0, 1e6, 1e9})
    for (const double each : {factor, 1 / factor})
      if (mean > each / like && mean < each * like)
        warnings.push_back(fmt::format("predictions are about {:.10g} times {} everywhere: is compare.unit right?", factor,
                                       each > 1 ? "too large" : "too small"));
}

}  // namespace

std::string unit_doubt(const Compared& compare) {
  const bool time = metric_dimension(compare.metric) == Dimension::time && metric_dimension(compare.divide_by) != Dimension::time;
  if (!time || !compare.unit.empty() || compare.scale != 1 || compare.relative_to) return {};
  const std::size_t mark = compare.column.rfind('_');
  if (mark == std::string::npos) return {};
  const std::string unit = compare.column.substr(mark + 1);
  if (unit == "s" || unit_dimension(unit) != Dimension::time) return {};
  return fmt::format("compare.column {} reads as a time in {}, and without a unit it is taken in seconds; write unit: {} beside it",
                     in_quotes(compare.column), unit, unit);
}

std::vector<std::string> claim_warnings(const ClaimResult& result) {
  std::vector<std::string> warnings;
  if (std::string doubt = unit_doubt(result.claim.compare); !doubt.empty()) warnings.push_back(std::move(doubt));
  for (const std::string& reason : not_counted(result)) warnings.push_back("this claim is not counted: " + reason);
  add_sources(result, warnings);
  add_noise_floor(result, warnings);
  add_seeds(result, warnings);
  add_unit_hint(result, warnings);
  return warnings;
}

}  // namespace straggler
