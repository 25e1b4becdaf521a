// What a reader of "holds" or "MISSED" should know before believing it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "validation/compare/claim_results.hpp"

namespace straggler {

namespace {

std::string share(double value) { return fmt::format("{:.3g} %", 100 * value); }

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

}  // namespace

std::vector<std::string> claim_warnings(const ClaimResult& result) {
  std::vector<std::string> warnings;
  add_fitted_rows(result, warnings);
  return warnings;
}

}  // namespace straggler
