// Switches in rings of one or more dimensions, an end point on each: the kinds `ring` and `torus`.
#pragma once
#include <memory>
#include <vector>

#include "sim/cluster/switched.hpp"

namespace straggler {

/// The product of `dims` is the number of end points. One dimension: cables are called ring/3, otherwise switch/0.1.2/dim/1.
std::unique_ptr<Topology> make_torus(const TopologyRequest& request, const std::vector<std::size_t>& dims, Core core);

}  // namespace straggler
