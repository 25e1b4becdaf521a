// What `straggler explain` says, in sentences of parts.
#pragma once
#include <vector>

#include "scenarios/reasons/explain.hpp"
#include "scenarios/statistics/said.hpp"

namespace straggler {

/// The work that all rows share.
Said work_said(const Explained& explained);
/// The bottleneck, the most effective change, and ineffective ones.
std::vector<Said> explain_said(const Explained& explained);
/// Of uneven workers.
std::vector<Said> slowdowns_said(const Slowdowns& slowdowns);

}  // namespace straggler
