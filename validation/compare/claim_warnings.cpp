// What a reader of "holds" or "MISSED" should know before believing it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "validation/compare/claim_results.hpp"

namespace straggler {

namespace {

/// Fitted rows do not count for the bound, but a model that cannot meet even these has not been fitted: off by more than a held-out row
/// may be (ten times the mean, where only the mean is bounded).
void add_fitted_rows(const ClaimResult& result, std::vector<std::string>& warnings) {
  const double most = result.claim.bound_max ? *result.claim.bound_max : 10 * result.claim.bound_mape.value_or(0);
  const RowResult* worst = nullptr;
  std::size_t count = 0;
  for (const RowResult& row : result.rows) {
    if (row.row.use != RowUse::fitted || !(std::abs(row.error) > most)) continue;
    ++count;
    if (worst == nullptr || std::abs(row.error) > std::abs(worst->error)) worst = &row;
  }
  if (worst == nullptr) return;
  warnings.push_back(fmt::format(
      "the fit misses {} of its own {} row{}, {} by {} (more than {}): the model cannot follow the rows it was "
      "fitted to, or one of them is wrong",
      count, result.fitted.rows, result.fitted.rows == 1 ? "" : "s", worst->row.label, share(std::abs(worst->error)), share(most)));
}

/// Every prediction is the same known factor from what was measured: more likely a unit than a model that is wrong.
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

std::vector<std::string> claim_warnings(const ClaimResult& result) {
  std::vector<std::string> warnings;
  add_fitted_rows(result, warnings);
  add_unit_hint(result, warnings);
  return warnings;
}

}  // namespace straggler
