// Reads the rows of a measured table that a claim uses.
#pragma once
#include <vector>

#include "validation/compare/claim.hpp"
#include "validation/compare/claim_row.hpp"

namespace straggler {

/// Throws ScenarioErrors with all problems: an invalid table, missing columns, cells that are not numbers, patterns that match nothing, no
/// held-out row, more parameters than fitted rows.
std::vector<ClaimRow> read_rows(const Claim& claim);

}  // namespace straggler
