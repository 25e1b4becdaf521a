#include "sim/cluster/graph_routes.hpp"

#include <algorithm>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <limits>

#include "sim/base/key.hpp"

namespace straggler {
namespace {

using Distance = GraphRoutes::Distance;

constexpr Distance far{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::uint32_t>::max()};
constexpr auto sum = [](const Distance& a, const Distance& b) {
  return a == far || b == far ? far : Distance{a.ticks + b.ticks, a.hops + b.hops};
};

}  // namespace

GraphRoutes::GraphRoutes(std::size_t nodes, std::vector<Edge> edges, Rules rules, std::size_t memory_bytes)
    : edges_(std::move(edges)),
      out_of_(nodes + 1, 0),
      multipath_(rules.multipath),
      costs_(rules.costs),
      keeps_equals_(multipath_ || std::any_of(edges_.begin(), edges_.end(), [](const Edge& edge) { return edge.spread > 0; })),
      no_way_(std::move(rules.no_way)),
      kept_(nodes) {
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
  const std::size_t tree_bytes = sizeof(std::uint32_t) * (keeps_equals_ ? nodes + 1 + edges_.size() : nodes);
  most_trees_ = std::max<std::size_t>(1, memory_bytes / std::max<std::size_t>(1, tree_bytes));
}

std::vector<Distance> GraphRoutes::distances_to(std::uint32_t to) const {
  std::vector<Distance> distances(kept_.size(), far);
  if (kept_.empty()) return distances;
  using EdgeName = boost::graph_traits<Backwards>::edge_descriptor;
  const auto weight = [this, to](const EdgeName& name) {
    const Edge& edge = edges_[backwards_[name]];
    return leads_on(edge, to) ? length(edge) : far;
  };
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

std::vector<Distance> GraphRoutes::longest_to(std::uint32_t to) const {
  std::vector<Distance> distances = distances_to(to);
  if (!costs_) return distances;
  const Tree tree = build(distances, to);
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t n = 0; n < distances.size(); ++n)
    if (distances[n] != far && n != to) nodes.push_back(n);
  std::sort(nodes.begin(), nodes.end(), [&](std::uint32_t a, std::uint32_t b) { return distances[a] < distances[b]; });
  std::vector<Distance> longest(distances.size(), far);
  longest[to] = {};
  for (const std::uint32_t n : nodes) {
    longest[n] = {};
    for (std::uint32_t place = keeps_equals_ ? tree.first[n] : n; place < (keeps_equals_ ? tree.first[n + 1] : n + 1); ++place) {
      const Edge& edge = edges_[tree.next[place]];
      longest[n].ticks = std::max(longest[n].ticks, edge.latency.ticks() + longest[edge.to].ticks);
      longest[n].hops = std::max(longest[n].hops, 1 + longest[edge.to].hops);
    }
  }
  return longest;
}

GraphRoutes::Tree GraphRoutes::build(std::uint32_t to) const { return build(distances_to(to), to); }

GraphRoutes::Tree GraphRoutes::build(const std::vector<Distance>& distances, std::uint32_t to) const {
  const std::uint32_t nodes = static_cast<std::uint32_t>(distances.size());
  Tree tree;
  if (keeps_equals_) tree.first.push_back(0);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    std::uint32_t found = 0;
    const bool begins = n != to && distances[n] != far;
    for (std::uint32_t e = out_of_[n]; begins && e < out_of_[n + 1] && (keeps_equals_ || found == 0); ++e) {
      if (!leads_on(edges_[e], to) || sum(distances[edges_[e].to], length(edges_[e])) != distances[n]) continue;
      tree.next.push_back(e);
      ++found;
    }
    if (!keeps_equals_ && found == 0) tree.next.push_back(0);  // no route begins there
    if (keeps_equals_) tree.first.push_back(static_cast<std::uint32_t>(tree.next.size()));
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
    if (keeps_equals_) {
      const std::uint64_t equals = tree->first[at + 1] - tree->first[at];
      place = tree->first[at];
      const auto spread = static_cast<std::uint64_t>(edges_[tree->next[place]].spread);
      // Each node draws anew, else nodes after a fork in two would all see one half of the choices.
      if (multipath_ && equals > 1) place += static_cast<std::uint32_t>(Hasher().add(choice).add(std::uint64_t{at}).key().low % equals);
      if (!multipath_ && spread > 0) place += static_cast<std::uint32_t>(choice / spread % equals);
    }
    const Edge& edge = edges_[tree->next[place]];
    out.links.push_back(edge.link);
    out.latency += edge.latency;
    at = edge.to;
  }
}

}  // namespace straggler
