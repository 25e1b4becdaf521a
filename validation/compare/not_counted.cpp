// Claims that cannot fail, or whose success says little.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "validation/compare/claim_results.hpp"

namespace straggler {

namespace {

/// A cell becomes a time of computing or of a collective. Words with `values` are settings.
bool brings_time(const BindTarget& target) {
  if (!target.values.empty()) return false;
  return std::any_of(target.paths.begin(), target.paths.end(), [&](const std::string& path) {
    const bool device = path.starts_with("devices.") && path.find(".compute") != std::string::npos;
    const bool collective = path.starts_with("cluster.network.collective.") && unit_dimension(target.unit) == Dimension::time;
    return device || collective;
  });
}

/// Every held-out row has a value of its own in that column.
bool differs_everywhere(const ClaimResult& result, std::size_t column) {
  std::set<std::string> seen;
  for (const RowResult& row : result.rows)
    if (row.row.use == RowUse::held_out && !seen.insert(row.row.bound[column].text).second) return false;
  return seen.size() > 1;
}

}  // namespace

std::vector<std::string> not_counted(const ClaimResult& result) {
  const Claim& claim = result.claim;
  std::vector<std::string> reasons;
  if (claim.kind == Claim::Kind::replay) return reasons;
  if (!claim.bound_max) reasons.emplace_back("its bound has no max, so that no single row can miss; write the largest error, too: max");
  for (std::size_t b = 0; b < claim.bind.size(); ++b) {
    const Bind& bind = claim.bind[b];
    if (std::any_of(bind.targets.begin(), bind.targets.end(), brings_time) && differs_everywhere(result, b))
      reasons.push_back(fmt::format("bind.{} gives each held-out row a measured time of its own, a part of the answer", bind.column));
  }
  constexpr double rounding = 1e-9;
  if (!claim.fit && metric_dimension(claim.compare.metric) == Dimension::bytes && result.held_out.max < rounding)
    reasons.emplace_back("its bytes are met exactly, so the table follows the formula that the simulator adds up");
  return reasons;
}

bool counts(const ClaimResult& result) { return result.claim.kind == Claim::Kind::prediction && not_counted(result).empty(); }

}  // namespace straggler
