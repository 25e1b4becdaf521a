// Clipping of the gradient before the step.
#pragma once
#include <memory>

#include "sim/lineage/update_rule.hpp"

namespace straggler {

/// `rule`, along gradients that are clipped to that norm first (rules::clipped).
std::unique_ptr<UpdateRule> make_clipped(std::unique_ptr<UpdateRule> rule, double norm);

}  // namespace straggler
