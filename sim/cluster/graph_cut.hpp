// Bandwidth from one half of a network's hosts to the other.
#pragma once
#include "sim/cluster/graph_file.hpp"

namespace straggler {

/// The least bandwidth from one half to the other, over some ways to halve the hosts: at least the bisection bandwidth, in bytes per
/// second. Finding the bisection itself is NP-hard (Garey, Johnson, Stockmeyer, Some simplified NP-complete graph problems, 1976). 0 for
/// fewer than two hosts.
double bisection_bound(const NetworkGraph& graph);

}  // namespace straggler
