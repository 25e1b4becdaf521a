// Topology `file`: hosts, switches and cables of a GraphML or DOT file. Routes are shortest by latency (or cost, if the file has costs),
// then hops, then the file's order and spread, then the names of the nodes along the way; with `multipath`, spread over all that are equal
// in latency and hops, by sender and receiver. They lead over no host that does not forward. A host with a single cable, to a switch, only
// ever begins or ends a way, so trees of shortest ways are made for the other nodes alone.
#include <algorithm>
#include <optional>
#include <stdexcept>

#include "sim/base/key.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/graph_cut.hpp"
#include "sim/cluster/graph_file.hpp"
#include "sim/cluster/graph_routes.hpp"
#include "sim/cluster/topology.hpp"

namespace straggler::cluster::topology_file {
namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

class FileTopology final : public Topology {
 public:
  FileTopology(NetworkGraph graph, bool multipath) : graph_(std::move(graph)), multipath_(multipath) {
    std::vector<std::uint32_t> cables(graph_.nodes.size(), 0), last(graph_.nodes.size(), none);
    for (std::uint32_t c = 0; c < graph_.cables.size(); ++c) {
      for (const std::uint32_t end : {graph_.cables[c].a, graph_.cables[c].b}) {
        ++cables[end];
        last[end] = c;
      }
    }
    const auto is_leaf = [&](std::uint32_t node) {
      return graph_.nodes[node].host && cables[node] == 1 && !graph_.nodes[other_end(last[node], node)].host;
    };
    std::vector<std::uint32_t> inner(graph_.nodes.size(), none);
    std::uint32_t inner_nodes = 0;
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n)
      if (!is_leaf(n)) inner[n] = inner_nodes++;
    for (const std::uint32_t host : graph_.hosts) {
      if (inner[host] != none)
        ends_.push_back({inner[host], none, none});
      else
        ends_.push_back({inner[other_end(last[host], host)], link_from(last[host], host), link_from(last[host], host) ^ 1});
    }
    GraphRoutes::Rules rules{.multipath = multipath};
    for (const GraphCable& cable : graph_.cables) rules.costs = rules.costs || cable.rule[0].cost || cable.rule[1].cost;
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n)
      if (inner[n] != none) rules.no_way.push_back(!graph_.nodes[n].forwards);
    routes_.emplace(inner_nodes, edges_between(inner), std::move(rules));
  }

  std::size_t endpoints() const override { return graph_.hosts.size(); }
  std::size_t links() const override { return 2 * graph_.cables.size(); }
  std::string name(std::uint32_t endpoint) const override { return graph_.nodes[graph_.hosts[endpoint]].name; }

  LinkDescription link(LinkId id) const override {
    const GraphCable& cable = cable_of(id);
    const std::string &a = graph_.nodes[cable.a].name, &b = graph_.nodes[cable.b].name;
    const bool back = id % 2 == 1;
    return {cable.names[id % 2], back ? b : a, back ? a : b, cable.bytes_per_second[id % 2], cable.latency[id % 2], cable.rule[id % 2]};
  }
  bool forwards(std::uint32_t endpoint) const override { return graph_.nodes[graph_.hosts[endpoint]].forwards; }
  double bytes_per_second(LinkId id) const override { return cable_of(id).bytes_per_second[id % 2]; }

  std::vector<LinkId> own_links(std::uint32_t endpoint) const override {
    const std::uint32_t host = graph_.hosts[endpoint];
    if (ends_[endpoint].up != none) return {ends_[endpoint].up, ends_[endpoint].down};
    std::vector<LinkId> own;
    for (std::uint32_t c = 0; c < graph_.cables.size(); ++c) {
      if (graph_.cables[c].a != host && graph_.cables[c].b != host) continue;
      own.push_back(link_from(c, host));
      own.push_back(own.back() ^ 1);
    }
    return own;
  }

  void route(std::uint32_t from, std::uint32_t to, Route& out) const override {
    if (from == to || from >= ends_.size() || to >= ends_.size())
      throw std::out_of_range("no route from end point " + std::to_string(from) + " to " + std::to_string(to) +
                              "; give two different ones below " + std::to_string(ends_.size()));
    const End &a = ends_[from], &b = ends_[to];
    out.links.clear();
    out.latency = Time();
    if (a.up != none) {
      out.links.push_back(a.up);
      out.latency += latency(a.up);
    }
    routes_->append(a.home, b.home, multipath_ ? Hasher().add(std::uint64_t{from}).add(std::uint64_t{to}).key().low : to, out);
    if (b.down != none) {
      out.links.push_back(b.down);
      out.latency += latency(b.down);
    }
  }

  TopologyFacts facts() const override {
    TopologyFacts facts;
    facts.switches = graph_.nodes.size() - graph_.hosts.size();
    facts.cables = graph_.cables.size();
    if (ends_.size() < 2) return facts;
    measure_diameter(facts);
    facts.bisection_bytes_per_second = bisection_bound(graph_);
    facts.bisection_is_bound = true;
    return facts;
  }

 private:
  struct End {
    std::uint32_t home;  // its switch if it has one cable, else itself: a node of routes_
    LinkId up, down;     // of that cable, else none
  };

  const GraphCable& cable_of(LinkId id) const {
    if (id >= links()) throw std::out_of_range("there is no link " + std::to_string(id) + "; there are " + std::to_string(links()));
    return graph_.cables[id / 2];
  }
  std::uint32_t other_end(std::uint32_t cable, std::uint32_t node) const {
    return graph_.cables[cable].a == node ? graph_.cables[cable].b : graph_.cables[cable].a;
  }
  LinkId link_from(std::uint32_t cable, std::uint32_t node) const { return 2 * cable + (graph_.cables[cable].a == node ? 0 : 1); }
  Time latency(LinkId id) const { return graph_.cables[id / 2].latency[id % 2]; }

  /// Links between inner nodes in order of preference: those with an order first, then those to nodes of smaller names.
  std::vector<GraphRoutes::Edge> edges_between(const std::vector<std::uint32_t>& inner) const {
    std::vector<std::uint32_t> order(graph_.nodes.size()), place(graph_.nodes.size());
    for (std::uint32_t n = 0; n < order.size(); ++n) order[n] = n;
    std::sort(order.begin(), order.end(),
              [this](std::uint32_t a, std::uint32_t b) { return natural_less(graph_.nodes[a].name, graph_.nodes[b].name); });
    for (std::uint32_t p = 0; p < order.size(); ++p) place[order[p]] = p;
    std::vector<LinkId> links;
    for (LinkId id = 0; id < 2 * graph_.cables.size(); ++id)
      if (inner[graph_.cables[id / 2].a] != none && inner[graph_.cables[id / 2].b] != none) links.push_back(id);
    const auto target = [this](LinkId id) { return id % 2 == 0 ? graph_.cables[id / 2].b : graph_.cables[id / 2].a; };
    const auto name = [this](LinkId id) -> const std::string& { return graph_.cables[id / 2].names[id % 2]; };
    const auto rule = [this](LinkId id) -> const RouteRule& { return graph_.cables[id / 2].rule[id % 2]; };
    std::sort(links.begin(), links.end(), [&](LinkId x, LinkId y) {
      const auto &a = rule(x).order, &b = rule(y).order;
      if (a.has_value() != b.has_value()) return a.has_value();
      if (a && *a != *b) return *a < *b;
      if (a && x % 2 != y % 2) return x % 2 < y % 2;
      if (target(x) != target(y)) return place[target(x)] < place[target(y)];
      return natural_less(name(x), name(y));
    });
    std::vector<GraphRoutes::Edge> edges;
    for (const LinkId id : links)
      edges.push_back({inner[target(id ^ 1)], inner[target(id)], latency(id), id, rule(id).cost.value_or(0), rule(id).spread});
    return edges;
  }

  /// The most latency from one of these end points to another, over the switch that they all are attached to.
  Time slowest_pair(const std::vector<std::size_t>& ends) const {
    std::size_t slowest = ends[0];  // to reach
    for (const std::size_t e : ends)
      if (latency(ends_[e].down) > latency(ends_[slowest].down)) slowest = e;
    Time longest;
    for (const std::size_t e : ends) {
      if (e == slowest) continue;
      longest =
          std::max({longest, latency(ends_[e].up) + latency(ends_[slowest].down), latency(ends_[slowest].up) + latency(ends_[e].down)});
    }
    return longest;
  }

  /// One search for each home with end points.
  void measure_diameter(TopologyFacts& facts) const {
    std::vector<std::uint32_t> homes;
    std::vector<std::vector<std::size_t>> at;
    for (std::size_t e = 0; e < ends_.size(); ++e) {
      if (at.size() <= ends_[e].home) at.resize(ends_[e].home + 1);
      if (at[ends_[e].home].empty()) homes.push_back(ends_[e].home);
      at[ends_[e].home].push_back(e);
    }
    std::vector<Time> up(at.size()), down(at.size());
    std::vector<std::size_t> hops(at.size());
    for (const std::uint32_t home : homes) {
      if (ends_[at[home].front()].up == none) continue;  // itself
      hops[home] = 1;
      if (at[home].size() > 1) longest(facts, 2, slowest_pair(at[home]));
      for (const std::size_t e : at[home]) {
        up[home] = std::max(up[home], latency(ends_[e].up));
        down[home] = std::max(down[home], latency(ends_[e].down));
      }
    }
    for (const std::uint32_t to : homes) {
      const std::vector<GraphRoutes::Distance> distances = routes_->longest_to(to);
      for (const std::uint32_t from : homes) {
        if (from == to) continue;
        longest(facts, hops[from] + distances[from].hops + hops[to], up[from] + Time::from_ticks(distances[from].ticks) + down[to]);
      }
    }
  }

  static void longest(TopologyFacts& facts, std::size_t hops, Time latency) {
    facts.diameter_hops = std::max(facts.diameter_hops, hops);
    facts.diameter_latency = std::max(facts.diameter_latency, latency);
  }

  NetworkGraph graph_;
  bool multipath_;
  std::vector<End> ends_;
  std::optional<GraphRoutes> routes_;
};

/// The scenario's overrides of the file.
void replace_cables(NetworkGraph& graph, const Parameters& parameters) {
  for (GraphCable& cable : graph.cables) {
    const std::string of = graph.nodes[cable.a].host || graph.nodes[cable.b].host ? "host_cables." : "switch_cables.";
    for (const int direction : {0, 1}) {
      if (parameters.has(of + "bandwidth")) cable.bytes_per_second[direction] = parameters.number(of + "bandwidth");
      if (parameters.has(of + "latency")) cable.latency[direction] = Time::from_seconds(parameters.number(of + "latency"));
    }
  }
}

std::unique_ptr<Topology> make(const Parameters& parameters, const TopologyRequest& request) {
  const std::string& path = parameters.text("path");
  NetworkGraph graph = read_network_graph(path);
  replace_cables(graph, parameters);
  if (graph.hosts.size() != request.nics.size())
    throw std::invalid_argument(path + ": has " + std::to_string(graph.hosts.size()) + " hosts, but the scenario has " +
                                std::to_string(request.nics.size()) +
                                " (workers that share none, and servers, each take one); make them as many");
  return std::make_unique<FileTopology>(std::move(graph), parameters.flag("multipath"));
}

Parameter of_cables(const char* name, ValueType type, const char* meaning) {
  const Range range = type == ValueType::rate ? Range::above(0) : Range::between(0, Time::limit().seconds());
  return {.name = name, .type = type, .meaning = meaning, .range = range};
}

const Register<TopologyEntry> entry(
    {"file",
     "hosts, switches and cables from a GraphML or DOT file",
     {{"path",
       ValueType::path,
       {},
       true,
       "a .graphml or .dot file, its edges with bandwidth and latency, its nodes of kind host or switch",
       {},
       {}},
      {"multipath", ValueType::boolean, "false", false, "equally short routes are shared: sender and receiver decide which", {}, {}},
      of_cables("host_cables.bandwidth", ValueType::rate, "bandwidth of every cable that ends at a host; overrides the file"),
      of_cables("host_cables.latency", ValueType::time, "latency of every cable that ends at a host; overrides the file"),
      of_cables("switch_cables.bandwidth", ValueType::rate, "bandwidth of every cable between switches; overrides the file"),
      of_cables("switch_cables.latency", ValueType::time, "latency of every cable between switches; overrides the file")},
     [](const Parameters& parameters, TopologyRequest request) { return make(parameters, request); }});

}  // namespace
}  // namespace straggler::cluster::topology_file
