// Bandwidth from one half of a network's hosts to the other.
#pragma once
#include "sim/cluster/graph_file.hpp"

namespace straggler {

/// The least, over some ways to halve the hosts, of what one half can send to the other: at least the bisection bandwidth, in bytes per
/// second. To find the bisection itself is NP-hard (Garey, Johnson, Stockmeyer, Some simplified NP-complete graph problems, 1976). 0 for
/// fewer than two hosts.
double bisection_bound(const NetworkGraph& graph);

}  // namespace straggler
