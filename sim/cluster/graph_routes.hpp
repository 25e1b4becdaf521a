// Shortest routes through any graph: by latency or cost, then hops, then the graph's own order of preference among equals.
#pragma once
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "sim/cluster/topology.hpp"

namespace straggler {

/// Edsger W. Dijkstra, A note on two problems in connexion with graphs, 1959, backwards from each destination, on first use. Keeps the
/// trees of the most recently used destinations, as many as fit into the memory given. May be called from several threads.
class GraphRoutes {
 public:
  struct Edge {
    std::uint32_t from = 0, to = 0;
    Time latency;
    LinkId link = 0;
    std::int64_t cost = 0;    // where costs count
    std::int64_t spread = 0;  // RouteRule::spread
  };
  struct Distance {
    std::int64_t ticks = 0;  // or cost
    std::uint32_t hops = 0;
    auto operator<=>(const Distance&) const = default;
  };

  struct Rules {
    bool multipath = false;         // any of the equals may be taken
    bool costs = false;             // they count instead of latencies
    std::vector<bool> no_way = {};  // [nodes] routes begin or end there, and never lead over it; empty: over all
  };
  /// Every node reaches every other, but for what `no_way` keeps apart: such routes are not asked for. Of the edges out of a node, an
  /// earlier one is preferred among equals; latencies sum up to Time::limit() at most.
  GraphRoutes(std::size_t nodes, std::vector<Edge> edges, Rules rules, std::size_t memory_bytes = std::size_t{64} << 20);

  /// Appends the links of the route and adds its latency. `choice` decides between equals: at random with multipath, else where they
  /// spread, as the number of the end point.
  void append(std::uint32_t from, std::uint32_t to, std::uint64_t choice, Route& out) const;
  /// Of every node to this one.
  std::vector<Distance> distances_to(std::uint32_t to) const;
  /// The most latency, and the most hops, of any route from every node to this one.
  std::vector<Distance> longest_to(std::uint32_t to) const;
  /// Trees in memory now, at most as many as fit.
  std::size_t trees() const;

 private:
  /// next[first[n]] .. next[first[n + 1] - 1]: the edges that begin a shortest route from n. If one is kept of equals, only next[n].
  struct Tree {
    std::vector<std::uint32_t> first, next;
  };
  using Backwards =
      boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, std::uint32_t, boost::no_property, std::uint32_t>;

  std::shared_ptr<const Tree> tree_to(std::uint32_t to) const;
  Tree build(std::uint32_t to) const;
  Tree build(const std::vector<Distance>& distances, std::uint32_t to) const;
  Distance length(const Edge& edge) const { return {costs_ ? edge.cost : edge.latency.ticks(), 1}; }
  bool leads_on(const Edge& edge, std::uint32_t to) const { return edge.to == to || no_way_.empty() || !no_way_[edge.to]; }

  std::vector<Edge> edges_;            // by `from`, in order of preference
  std::vector<std::uint32_t> out_of_;  // [nodes + 1]: where a node's edges begin
  Backwards backwards_;                // every edge reversed, with its place in edges_
  bool multipath_, costs_, keeps_equals_;
  std::vector<bool> no_way_;
  std::size_t most_trees_;

  mutable std::mutex mutex_;
  struct Kept {
    std::shared_ptr<const Tree> tree;
    std::list<std::uint32_t>::iterator used;
  };
  mutable std::vector<Kept> kept_;              // [nodes]
  mutable std::list<std::uint32_t> last_used_;  // most recent first
};

}  // namespace straggler
