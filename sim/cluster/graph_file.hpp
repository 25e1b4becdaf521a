// A network in a file: hosts, switches and cables, checked.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/topology.hpp"

namespace straggler {

struct GraphNode {
  std::string name;
  bool host = false;
  bool forwards = false;  // routes between others may lead over it; true of every switch
  std::optional<std::int64_t> rank;
};

/// [0]: from `a` to `b`; [1]: back.
struct GraphCable {
  std::uint32_t a = 0, b = 0;  // nodes
  std::string names[2];
  double bytes_per_second[2] = {0, 0};
  Time latency[2];
  RouteRule rule[2] = {};
};

struct NetworkGraph {
  std::vector<GraphNode> nodes;
  std::vector<GraphCable> cables;
  /// The hosts in the order of end points: by rank if all have one, else by natural order of their names.
  std::vector<std::uint32_t> hosts;
};

/// Reads GraphML (.graphml) or DOT (.dot). Nodes have a `name` (default: their id), a `kind`, host or switch; hosts may have a `rank` and
/// `forwards`. Edges have a `bandwidth` and a `latency`, in scenario units or plain numbers in bytes per second and seconds, and may have a
/// `name` and a RouteRule: `route_cost`, `route_order`, `route_spread`. A cable is an undirected edge, whose directions are called name:up
/// (from its source) and name:down, or a pair of directed ones. Bandwidths are positive, latencies not negative, names unique, all nodes
/// connected, and every two hosts without passing another that does not forward. Throws std::invalid_argument ("PATH: what is wrong; what
/// would be right") otherwise, or if the file does not match its extension.
NetworkGraph read_network_graph(const std::string& path);

/// Runs of digits compare as numbers: node2 before node10.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace straggler
