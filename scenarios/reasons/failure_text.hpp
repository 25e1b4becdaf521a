// What `straggler check` says of failures and checkpoints: closed forms, beside which a run can be held.
#pragma once
#include <string>
#include <vector>

#include "scenarios/experiment/failure_forms.hpp"

namespace straggler {

/// Sentences without an end: of failures, of the checkpoints, of those that would take the least time. An update takes so many seconds; 0:
/// unknown.
struct FailureText {
  std::string failures, checkpoints, best;
};
FailureText failure_text(const FailureForms& forms, double update_seconds);

}  // namespace straggler
