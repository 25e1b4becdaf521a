#include "sim/cluster/graph_cut.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <limits>

namespace straggler {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::bidirectionalS>;
struct Arc {
  double capacity = 0, residual = 0;
  Traits::edge_descriptor reverse;
};
using FlowGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, boost::no_property, Arc>;

void add_cable(FlowGraph& flow, std::size_t a, std::size_t b, double there, double back) {
  const auto forth = add_edge(a, b, flow).first, reverse = add_edge(b, a, flow).first;
  flow[forth].capacity = there;
  flow[reverse].capacity = back;
  flow[forth].reverse = reverse;
  flow[reverse].reverse = forth;
}

/// The network without the hosts that have one cable only, to a switch: a switch of a hundred thousand hosts costs as much as one of two.
class Halves {
 public:
  explicit Halves(const NetworkGraph& graph) : graph_(graph), inner_(graph.nodes.size(), leaf) {
    std::vector<std::uint32_t> cables(graph.nodes.size(), 0), neighbour(graph.nodes.size(), 0);
    for (const GraphCable& cable : graph.cables) {
      ++cables[cable.a], ++cables[cable.b];
      neighbour[cable.a] = cable.b, neighbour[cable.b] = cable.a;
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      if (!graph.nodes[n].host || cables[n] != 1 || graph.nodes[neighbour[n]].host) inner_[n] = inner_nodes_++;
  }

  /// The most that the senders can send to all other hosts together.
  double most_between(const std::vector<bool>& sends) const {
    const std::size_t source = inner_nodes_, sink = inner_nodes_ + 1;
    FlowGraph flow(inner_nodes_ + 2);
    std::vector<double> enters(inner_nodes_, 0), leaves(inner_nodes_, 0);  // from senders, to receivers
    double all = 1;
    for (const GraphCable& cable : graph_.cables) {
      all += cable.bytes_per_second[0] + cable.bytes_per_second[1];
      const std::size_t a = inner_[cable.a], b = inner_[cable.b];
      if (a == leaf)
        (sends[cable.a] ? enters : leaves)[b] += cable.bytes_per_second[sends[cable.a] ? 0 : 1];
      else if (b == leaf)
        (sends[cable.b] ? enters : leaves)[a] += cable.bytes_per_second[sends[cable.b] ? 1 : 0];
      else
        add_cable(flow, a, b, cable.bytes_per_second[0], cable.bytes_per_second[1]);
    }
    for (const std::uint32_t host : graph_.hosts)
      if (inner_[host] != leaf) (sends[host] ? enters : leaves)[inner_[host]] = all;
    for (std::size_t node = 0; node < inner_nodes_; ++node) {
      if (enters[node] > 0) add_cable(flow, source, node, enters[node], 0);
      if (leaves[node] > 0) add_cable(flow, node, sink, leaves[node], 0);
    }
    return boost::boykov_kolmogorov_max_flow(flow, get(&Arc::capacity, flow), get(&Arc::residual, flow), get(&Arc::reverse, flow),
                                             get(boost::vertex_index, flow), source, sink);
  }

 private:
  static constexpr std::size_t leaf = ~std::size_t{0};
  const NetworkGraph& graph_;
  std::vector<std::size_t> inner_;
  std::size_t inner_nodes_ = 0;
};

/// Hosts in the order of their distance in hops from the first given.
std::vector<std::uint32_t> by_distance(const NetworkGraph& graph, std::uint32_t from) {
  std::vector<std::vector<std::uint32_t>> next(graph.nodes.size());
  for (const GraphCable& cable : graph.cables) {
    next[cable.a].push_back(cable.b);
    next[cable.b].push_back(cable.a);
  }
  std::vector<bool> seen(graph.nodes.size(), false);
  std::vector<std::uint32_t> open{from}, hosts;
  seen[from] = true;
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (graph.nodes[open[i]].host) hosts.push_back(open[i]);
    for (const std::uint32_t node : next[open[i]]) {
      if (!seen[node]) open.push_back(node);
      seen[node] = true;
    }
  }
  return hosts;
}

}  // namespace

double bisection_bound(const NetworkGraph& graph) {
  const std::size_t half = graph.hosts.size() / 2;
  if (half == 0) return 0;
  // Neighbours in the file's order together; every other one; those near one host, and near the host farthest from it.
  std::vector<std::vector<std::uint32_t>> orders{graph.hosts, {}, by_distance(graph, graph.hosts[0]), {}};
  for (const std::size_t first : {0, 1})
    for (std::size_t h = first; h < graph.hosts.size(); h += 2) orders[1].push_back(graph.hosts[h]);
  orders[3] = by_distance(graph, orders[2].back());
  const Halves halves(graph);
  double least = std::numeric_limits<double>::infinity();
  for (const std::vector<std::uint32_t>& order : orders) {
    std::vector<bool> sends(graph.nodes.size(), false);
    for (std::size_t h = 0; h < half; ++h) sends[order[h]] = true;
    least = std::min(least, halves.most_between(sends));
    sends.flip();
    least = std::min(least, halves.most_between(sends));
  }
  return least;
}

}  // namespace straggler
