// One switch, which never limits, and all NICs on it: the kinds `star` and `hosts`.
#pragma once
#include <memory>

#include "sim/cluster/topology.hpp"

namespace straggler {

std::unique_ptr<Topology> make_star(const TopologyRequest& request);

}  // namespace straggler
