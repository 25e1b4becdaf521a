#include "sim/cluster/graph_file.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "sim/base/ascii.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "sim/cluster/graph_text.hpp"

namespace straggler {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw std::invalid_argument(sentence); }

/// A quantity with its unit, or a plain number in SI.
double parse_measure(const std::string& text, Dimension dimension) {
  if (!text.empty() && (is_digit(text.back()) || text.back() == '.')) {
    const double value = parse_number(text);
    if (value < 0) refuse(in_quotes(text) + " is negative; it must be at least 0");
    return value;
  }
  return parse_quantity(text, dimension);
}

void check_name(const std::string& what, const std::string& name) {
  const auto bad = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '"' || c == '\\'; };
  if (name.empty() || std::any_of(name.begin(), name.end(), bad))
    refuse(what + " is called " + in_quotes(name) + "; a name is not empty and has no quotes, backslashes or control characters");
}

std::vector<GraphNode> understand_nodes(const std::vector<NodeText>& texts) {
  std::vector<GraphNode> nodes;
  std::set<std::string> names;
  for (const NodeText& text : texts) {
    GraphNode node;
    node.name = text.name.empty() ? text.id : text.name;
    check_name("a node", node.name);
    const std::string where = "node " + in_quotes(node.name);
    if (!names.insert(node.name).second) refuse("two nodes are called " + in_quotes(node.name) + "; names must be unique");
    if (text.kind != "host" && text.kind != "switch")
      refuse(where + (text.kind.empty() ? " has no kind" : " is of kind " + in_quotes(text.kind)) + "; give it kind host or switch");
    node.host = text.kind == "host";
    if (!text.rank.empty()) {
      try {
        node.rank = parse_count(text.rank);
      } catch (const std::invalid_argument& error) {
        refuse(where + ": rank: " + error.what());
      }
      if (!node.host) refuse(where + " is a switch with a rank; only hosts have one");
    }
    if (!text.forwards.empty() && !node.host) refuse(where + " is a switch with `forwards`; only hosts have it, since every switch does");
    try {
      node.forwards = !node.host || (!text.forwards.empty() && parse_boolean(text.forwards));
    } catch (const std::invalid_argument& error) {
      refuse(where + ": forwards: " + error.what());
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<std::uint32_t> order_hosts(const std::vector<GraphNode>& nodes) {
  std::vector<std::uint32_t> hosts;
  std::size_t ranked = 0;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].host) continue;
    hosts.push_back(n);
    ranked += nodes[n].rank ? 1 : 0;
  }
  if (ranked == 0) {
    std::sort(hosts.begin(), hosts.end(), [&](std::uint32_t a, std::uint32_t b) { return natural_less(nodes[a].name, nodes[b].name); });
    return hosts;
  }
  for (const std::uint32_t host : hosts)
    if (!nodes[host].rank) refuse("host " + in_quotes(nodes[host].name) + " has no rank, but others have; give all hosts one, or none");
  std::sort(hosts.begin(), hosts.end(), [&](std::uint32_t a, std::uint32_t b) { return *nodes[a].rank < *nodes[b].rank; });
  for (std::size_t h = 1; h < hosts.size(); ++h) {
    const GraphNode &a = nodes[hosts[h - 1]], &b = nodes[hosts[h]];
    if (*a.rank == *b.rank)
      refuse("hosts " + in_quotes(a.name) + " and " + in_quotes(b.name) + " both have rank " + std::to_string(*a.rank) +
             "; ranks must differ");
  }
  return hosts;
}

/// The directed link that an edge describes, its name apart.
struct Link {
  double bytes_per_second;
  Time latency;
  RouteRule rule;
};

/// A whole number from `least` on; empty: none.
std::optional<std::int64_t> understand_count(const std::string& text, std::int64_t least) {
  if (text.empty()) return std::nullopt;
  const std::int64_t count = parse_count(text);
  constexpr std::int64_t most = 1'000'000'000;  // so that no sum overflows
  if (count < least || count > most)
    refuse(in_quotes(text) + " is out of range; write " + std::to_string(least) + " to " + std::to_string(most));
  return count;
}

Link understand_link(const EdgeText& edge, const std::string& where) {
  if (edge.bandwidth.empty()) refuse(where + " has no bandwidth; write one such as 1Gbps");
  if (edge.latency.empty()) refuse(where + " has no latency; write one such as 50us");
  Link link;
  std::string attribute = "bandwidth";
  try {
    link.bytes_per_second = parse_measure(edge.bandwidth, Dimension::rate);
    if (!(link.bytes_per_second > 0)) refuse(in_quotes(edge.bandwidth) + " is not above 0; write a rate such as 1Gbps");
    attribute = "latency";
    const double seconds = parse_measure(edge.latency, Dimension::time);
    if (seconds > Time::limit().seconds()) refuse(in_quotes(edge.latency) + " is longer than 100 days; write a time such as 50us");
    link.latency = Time::from_seconds(seconds);
    attribute = "route_cost";
    link.rule.cost = understand_count(edge.route_cost, 0);
    attribute = "route_order";
    link.rule.order = understand_count(edge.route_order, 0);
    attribute = "route_spread";
    link.rule.spread = understand_count(edge.route_spread, 1).value_or(0);
  } catch (const std::invalid_argument& error) {
    refuse(where + ": " + attribute + ": " + error.what());
  }
  return link;
}

class CableBuilder {
 public:
  CableBuilder(const std::vector<GraphNode>& nodes, bool directed) : nodes_(nodes), directed_(directed) {}

  void add(const EdgeText& edge) {
    const std::string& from = nodes_[edge.source].name;
    const std::string& to = nodes_[edge.target].name;
    const std::string plain = from + (directed_ ? "->" : "--") + to;
    const std::string where = "edge " + in_quotes(plain);
    if (edge.source == edge.target) refuse(where + " leads back to where it begins; a cable joins two nodes");
    if (!edge.name.empty()) check_name(where, edge.name);
    const Link link = understand_link(edge, where);
    const std::uint32_t a = static_cast<std::uint32_t>(edge.source), b = static_cast<std::uint32_t>(edge.target);
    const std::string name = edge.name.empty() ? numbered(plain) : edge.name;
    if (!directed_) {
      cables_.push_back({a,
                         b,
                         {name + ":up", name + ":down"},
                         {link.bytes_per_second, link.bytes_per_second},
                         {link.latency, link.latency},
                         {link.rule, link.rule}});
    } else if (const auto other = open_.find({b, a}); other != open_.end() && !other->second.empty()) {
      GraphCable& cable = cables_[other->second.front()];
      other->second.erase(other->second.begin());
      cable.names[1] = name;
      cable.bytes_per_second[1] = link.bytes_per_second;
      cable.latency[1] = link.latency;
      cable.rule[1] = link.rule;
    } else {
      open_[{a, b}].push_back(cables_.size());
      cables_.push_back({a, b, {name, ""}, {link.bytes_per_second, 0}, {link.latency, Time()}, {link.rule, {}}});
    }
  }

  std::vector<GraphCable> take() {
    for (const auto& [ends, waiting] : open_)
      if (!waiting.empty())
        refuse("edge " + in_quotes(nodes_[ends.first].name + "->" + nodes_[ends.second].name) +
               " has no edge back; a cable is a pair of directed edges, or write an undirected graph");
    check_all();
    return std::move(cables_);
  }

 private:
  /// Cables side by side between the same two nodes.
  std::string numbered(const std::string& plain) {
    const std::size_t before = unnamed_[plain]++;
    return before == 0 ? plain : plain + "/" + std::to_string(before);
  }

  void check_all() const {
    if (cables_.size() > std::numeric_limits<std::uint32_t>::max() / 2) refuse("has more than 2^31 cables; describe fewer");
    std::set<std::string> names;
    double seconds = 0;
    for (const GraphCable& cable : cables_) {
      for (const std::string& name : cable.names)
        if (!names.insert(name).second) refuse("two links are called " + in_quotes(name) + "; names of edges must be unique");
      seconds += std::max(cable.latency[0], cable.latency[1]).seconds();
    }
    if (!(seconds <= Time::limit().seconds())) refuse("the latencies of all edges sum up to more than 100 days; write smaller ones");
  }

  const std::vector<GraphNode>& nodes_;
  bool directed_;
  std::vector<GraphCable> cables_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> open_;  // one direction known, first come first
  std::map<std::string, std::size_t> unnamed_;
};

/// Numbers nodes by the part of the network in which they are connected. Nodes that `passes` leaves out stay apart, with `none`.
constexpr std::uint32_t none = ~std::uint32_t{0};
template <class Passes>
std::vector<std::uint32_t> parts_of(const std::vector<std::vector<std::uint32_t>>& next, Passes passes) {
  std::vector<std::uint32_t> part(next.size(), none), open;
  std::uint32_t parts = 0;
  for (std::uint32_t first = 0; first < next.size(); ++first) {
    if (part[first] != none || !passes(first)) continue;
    part[first] = parts;
    open.push_back(first);
    while (!open.empty()) {
      const std::uint32_t node = open.back();
      open.pop_back();
      for (const std::uint32_t other : next[node]) {
        if (part[other] != none || !passes(other)) continue;
        part[other] = parts;
        open.push_back(other);
      }
    }
    ++parts;
  }
  return part;
}

void check_connected(const NetworkGraph& graph) {
  std::vector<std::vector<std::uint32_t>> next(graph.nodes.size());
  for (const GraphCable& cable : graph.cables) {
    next[cable.a].push_back(cable.b);
    next[cable.b].push_back(cable.a);
  }
  const auto name = [&](std::size_t node) { return in_quotes(graph.nodes[node].name); };
  const std::vector<std::uint32_t> all = parts_of(next, [](std::uint32_t) { return true; });
  const auto lost = std::find_if(all.begin(), all.end(), [](std::uint32_t part) { return part != 0; });
  if (lost != all.end())
    refuse("there is no way from node " + name(0) + " to node " + name(static_cast<std::size_t>(lost - all.begin())) +
           "; all nodes must be connected");

  // Two hosts reach each other through a part that forwards, or by a cable of their own.
  const std::vector<std::uint32_t> part = parts_of(next, [&](std::uint32_t node) { return graph.nodes[node].forwards; });
  std::vector<std::vector<std::uint32_t>> at(graph.nodes.size());  // by part: its hosts
  const auto each_part = [&](std::uint32_t host, auto&& use) {
    if (part[host] != none) use(part[host]);
    for (const std::uint32_t other : next[host])
      if (part[other] != none && part[host] == none) use(part[other]);
  };
  for (const std::uint32_t host : graph.hosts)
    each_part(host, [&](std::uint32_t of) {
      if (at[of].empty() || at[of].back() != host) at[of].push_back(host);
    });
  const bool one = std::any_of(at.begin(), at.end(), [&](const auto& hosts) { return hosts.size() == graph.hosts.size(); });
  std::vector<std::uint32_t> reached_from(graph.nodes.size(), none);
  for (std::size_t h = 0; h < graph.hosts.size() && !one; ++h) {
    const std::uint32_t host = graph.hosts[h];
    reached_from[host] = host;
    for (const std::uint32_t other : next[host]) reached_from[other] = host;
    each_part(host, [&](std::uint32_t of) {
      for (const std::uint32_t other : at[of]) reached_from[other] = host;
    });
    for (const std::uint32_t other : graph.hosts)
      if (reached_from[other] != host)
        refuse("every way from host " + name(host) + " to host " + name(other) +
               " leads over another host; give the hosts that pass on messages of others `forwards: true`, or join them by a switch");
  }
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    while (i < a.size() && a[i] == '0') ++i;
    while (j < b.size() && b[j] == '0') ++j;
    const std::size_t first_i = i, first_j = j;
    while (i < a.size() && is_digit(a[i])) ++i;
    while (j < b.size() && is_digit(b[j])) ++j;
    const std::string_view x = a.substr(first_i, i - first_i), y = b.substr(first_j, j - first_j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;  // equal but for leading zeros
}

NetworkGraph read_network_graph(const std::string& path) {
  const GraphText text = read_graph_text(path);
  try {
    if (text.nodes.empty()) refuse("has no nodes; a network needs at least one host");
    NetworkGraph graph;
    graph.nodes = understand_nodes(text.nodes);
    graph.hosts = order_hosts(graph.nodes);
    CableBuilder cables(graph.nodes, text.directed);
    for (const EdgeText& edge : text.edges) cables.add(edge);
    graph.cables = cables.take();
    check_connected(graph);
    return graph;
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(path + ": " + error.what());
  }
}

}  // namespace straggler
