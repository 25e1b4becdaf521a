#pragma once
#include <string>
#include <vector>

#include "sim/base/key.hpp"

namespace straggler {

/// Values that must be equal on all ranks.
struct RankIdentity {
  Key arguments, build;
};
/// Of this program, and of those arguments.
RankIdentity identity_of(const std::vector<std::string>& arguments);

}  // namespace straggler
