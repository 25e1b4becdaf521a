#include "sim/cluster/graph_routes.hpp"

#include <algorithm>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <limits>

#include "sim/base/key.hpp"

namespace straggler {
namespace {

using Distance = GraphRoutes::Distance;

constexpr auto sum = [](const Distance& a, const Distance& b) { return Distance{a.ticks + b.ticks, a.hops + b.hops}; };

}  // namespace

GraphRoutes::GraphRoutes(std::size_t nodes, std::vector<Edge> edges, bool multipath, std::size_t memory_bytes)
    : edges_(std::move(edges)), out_of_(nodes + 1, 0), multipath_(multipath), kept_(nodes) {
  std::stable_sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) { return a.from < b.from; });
  for (const Edge& edge : edges_) ++out_of_[edge.from + 1];
  for (std::size_t n = 0; n < nodes; ++n) out_of_[n + 1] += out_of_[n];

  std::vector<std::pair<std::uint32_t, std::uint32_t>> turned;
  std::vector<std::uint32_t> places;
  for (std::uint32_t e = 0; e < edges_.size(); ++e) {
    turned.emplace_back(edges_[e].to, edges_[e].from);
    places.push_back(e);
  }
  backwards_ =
      Backwards(boost::edges_are_unsorted_multi_pass, turned.begin(), turned.end(), places.begin(), static_cast<std::uint32_t>(nodes));
  const std::size_t tree_bytes = sizeof(std::uint32_t) * (multipath_ ? nodes + 1 + edges_.size() : nodes);
  most_trees_ = std::max<std::size_t>(1, memory_bytes / std::max<std::size_t>(1, tree_bytes));
}

std::vector<Distance> GraphRoutes::distances_to(std::uint32_t to) const {
  const Distance far{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::uint32_t>::max()};
  std::vector<Distance> distances(kept_.size(), far);
  if (kept_.empty()) return distances;
  using EdgeName = boost::graph_traits<Backwards>::edge_descriptor;
  const auto weight = [this](const EdgeName& edge) { return Distance{edges_[backwards_[edge]].latency.ticks(), 1}; };
  const auto index = get(boost::vertex_index, backwards_);
  boost::dijkstra_shortest_paths(backwards_, to,
                                 boost::weight_map(boost::make_function_property_map<EdgeName>(weight))
                                     .distance_map(boost::make_iterator_property_map(distances.begin(), index))
                                     .distance_compare(std::less<>())
                                     .distance_combine(sum)
                                     .distance_inf(far)
                                     .distance_zero(Distance{}));
  return distances;
}

GraphRoutes::Tree GraphRoutes::build(std::uint32_t to) const {
  const std::vector<Distance> distances = distances_to(to);
  const std::uint32_t nodes = static_cast<std::uint32_t>(distances.size());
  Tree tree;
  if (multipath_) tree.first.push_back(0);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    std::uint32_t found = 0;
    for (std::uint32_t e = out_of_[n]; n != to && e < out_of_[n + 1] && (multipath_ || found == 0); ++e) {
      if (sum(distances[edges_[e].to], {edges_[e].latency.ticks(), 1}) != distances[n]) continue;
      tree.next.push_back(e);
      ++found;
    }
    if (!multipath_ && found == 0) tree.next.push_back(0);  // the destination itself
    if (multipath_) tree.first.push_back(static_cast<std::uint32_t>(tree.next.size()));
  }
  tree.next.shrink_to_fit();
  return tree;
}

std::shared_ptr<const GraphRoutes::Tree> GraphRoutes::tree_to(std::uint32_t to) const {
  {
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_[to];
    if (kept.tree) {
      if (kept.used != last_used_.begin()) last_used_.splice(last_used_.begin(), last_used_, kept.used);
      return kept.tree;
    }
  }
  auto tree = std::make_shared<const Tree>(build(to));
  const std::lock_guard lock(mutex_);
  Kept& kept = kept_[to];
  if (kept.tree) return kept.tree;  // another thread was faster
  while (last_used_.size() >= most_trees_) {
    kept_[last_used_.back()] = {};
    last_used_.pop_back();
  }
  last_used_.push_front(to);
  kept = {tree, last_used_.begin()};
  return tree;
}

std::size_t GraphRoutes::trees() const {
  const std::lock_guard lock(mutex_);
  return last_used_.size();
}

void GraphRoutes::append(std::uint32_t from, std::uint32_t to, std::uint64_t choice, Route& out) const {
  if (from == to) return;
  const std::shared_ptr<const Tree> tree = tree_to(to);
  for (std::uint32_t at = from; at != to;) {
    std::uint32_t place = at;
    if (multipath_) {
      const std::uint32_t equals = tree->first[at + 1] - tree->first[at];
      // Each node draws anew, else nodes after a fork in two would all see one half of the choices.
      place = tree->first[at];
      if (equals > 1) place += static_cast<std::uint32_t>(Hasher().add(choice).add(std::uint64_t{at}).key().low % equals);
    }
    const Edge& edge = edges_[tree->next[place]];
    out.links.push_back(edge.link);
    out.latency += edge.latency;
    at = edge.to;
  }
}

}  // namespace straggler
