// The raw content of a graph file, GraphML or DOT, before its attributes are interpreted.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace straggler {

/// Attributes that a file does not give are empty.
struct NodeText {
  std::string id, name, kind, rank, forwards;
};
struct EdgeText {
  std::string name, bandwidth, latency, route_cost, route_order, route_spread;
  std::size_t source = 0, target = 0;  // nodes
};
struct GraphText {
  bool directed = false;
  std::vector<NodeText> nodes;
  std::vector<EdgeText> edges;  // in the order of the file
};

/// Chosen by the extension, .graphml or .dot. Throws std::invalid_argument ("PATH: what is wrong; what would be right") on another
/// extension, a file that cannot be read, or one that does not match its extension. Never crashes, on any file content.
GraphText read_graph_text(const std::string& path);

}  // namespace straggler
