// write_graph of fabric.hpp. Where both directions of every cable are equal the graph is undirected and an edge has the name that both have
// in common; else every link is a directed edge of its own. End points carry their number as `rank`, for the order of names is another.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/aside_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/xml_text.hpp"
#include "sim/cluster/fabric.hpp"

namespace straggler {
namespace {

/// "worker/3" of "worker/3:up" and "worker/3:down"; empty if they are not such a pair.
std::string common_name(const LinkDescription& there, const LinkDescription& back) {
  if (!there.name.ends_with(":up")) return {};
  const std::string stem = there.name.substr(0, there.name.size() - 3);
  return back.name == stem + ":down" ? stem : std::string();
}

/// Attributes with a value, in order.
using Attributes = std::vector<std::pair<const char*, std::string>>;

struct Edge {
  std::string from, to;
  Attributes attributes;
};
Edge edge_of(const LinkDescription& link, const std::string& name) {
  Edge edge{link.from,
            link.to,
            {{"name", name},
             {"bandwidth", format_quantity(link.bytes_per_second, Dimension::rate)},
             {"latency", format_quantity(link.latency.seconds(), Dimension::time)}}};
  if (link.rule.cost) edge.attributes.emplace_back("route_cost", std::to_string(*link.rule.cost));
  if (link.rule.order) edge.attributes.emplace_back("route_order", std::to_string(*link.rule.order));
  if (link.rule.spread > 0) edge.attributes.emplace_back("route_spread", std::to_string(link.rule.spread));
  return edge;
}

struct Picture {
  bool directed = false;
  std::vector<std::string> hosts, switches;
  std::vector<bool> forwards;  // [hosts]
  std::vector<Edge> edges;
};

Picture picture_of(const Topology& topology) {
  Picture picture;
  std::set<std::string> known;
  for (std::uint32_t e = 0; e < topology.endpoints(); ++e) {
    picture.hosts.push_back(topology.name(e));
    picture.forwards.push_back(topology.forwards(e));
    known.insert(picture.hosts.back());
  }
  for (std::size_t id = 0; id < topology.links() && !picture.directed; id += 2) {
    const LinkDescription there = topology.link(static_cast<LinkId>(id)), back = topology.link(static_cast<LinkId>(id + 1));
    picture.directed = there.bytes_per_second != back.bytes_per_second || there.latency != back.latency || there.rule != back.rule ||
                       common_name(there, back).empty();
  }
  for (std::size_t id = 0; id < topology.links(); id += picture.directed ? 1 : 2) {
    const LinkDescription link = topology.link(static_cast<LinkId>(id));
    for (const std::string& node : {link.from, link.to})
      if (known.insert(node).second) picture.switches.push_back(node);
    picture.edges.push_back(edge_of(link, picture.directed ? link.name : common_name(link, topology.link(static_cast<LinkId>(id + 1)))));
  }
  return picture;
}

void write_graphml(const Picture& picture, std::ostream& out) {
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  std::vector<const char*> node_keys{"name", "kind", "rank"}, edge_keys{"name", "bandwidth", "latency"};
  if (std::find(picture.forwards.begin(), picture.forwards.end(), true) != picture.forwards.end()) node_keys.push_back("forwards");
  for (const char* key : {"route_cost", "route_order", "route_spread"})
    if (std::any_of(picture.edges.begin(), picture.edges.end(), [key](const Edge& edge) {
          return std::any_of(edge.attributes.begin(), edge.attributes.end(),
                             [key](const auto& each) { return each.first == std::string_view(key); });
        }))
      edge_keys.push_back(key);
  for (const char* key : node_keys)
    out << "  <key id=\"node_" << key << "\" for=\"node\" attr.name=\"" << key << "\" attr.type=\"string\"/>\n";
  for (const char* key : edge_keys)
    out << "  <key id=\"edge_" << key << "\" for=\"edge\" attr.name=\"" << key << "\" attr.type=\"string\"/>\n";
  out << "  <graph id=\"network\" edgedefault=\"" << (picture.directed ? "directed" : "undirected") << "\">\n";
  const auto data = [&](const std::string& key, const std::string& value) {
    out << "<data key=\"" << key << "\">" << xml_text(value) << "</data>";
  };
  std::map<std::string, std::size_t> ids;
  const auto node = [&](const std::string& name, const char* kind) {
    const std::size_t id = ids.size();
    ids[name] = id;
    out << "    <node id=\"n" << id << "\">";
    data("node_name", name);
    data("node_kind", kind);
    if (id < picture.hosts.size()) data("node_rank", std::to_string(id));
    if (id < picture.hosts.size() && picture.forwards[id]) data("node_forwards", "true");
    out << "</node>\n";
  };
  for (const std::string& name : picture.hosts) node(name, "host");
  for (const std::string& name : picture.switches) node(name, "switch");
  for (const Edge& edge : picture.edges) {
    out << "    <edge source=\"n" << ids[edge.from] << "\" target=\"n" << ids[edge.to] << "\">";
    for (const auto& [key, value] : edge.attributes) data("edge_" + std::string(key), value);
    out << "</edge>\n";
  }
  out << "  </graph>\n</graphml>\n";
}

/// In double quotes, as DOT has strings.
std::string dot(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

void write_dot(const Picture& picture, std::ostream& out) {
  out << (picture.directed ? "digraph" : "graph") << " network {\n";
  for (std::size_t h = 0; h < picture.hosts.size(); ++h)
    out << "  " << dot(picture.hosts[h]) << " [kind=host, rank=" << h << (picture.forwards[h] ? ", forwards=true" : "") << "];\n";
  for (const std::string& name : picture.switches) out << "  " << dot(name) << " [kind=switch, shape=box];\n";
  for (const Edge& edge : picture.edges) {
    out << "  " << dot(edge.from) << (picture.directed ? " -> " : " -- ") << dot(edge.to);
    const char* before = " [";
    for (const auto& [key, value] : edge.attributes) out << std::exchange(before, ", ") << key << "=" << dot(value);
    out << "];\n";
  }
  out << "}\n";
}

}  // namespace

void write_graph(const Topology& topology, const std::string& path) {
  const bool graphml = path.ends_with(".graphml");
  if (!graphml && !path.ends_with(".dot"))
    throw std::invalid_argument(path + ": is neither .graphml nor .dot; give the file one of these endings");
  AsideFile aside(path);
  std::ofstream out(aside.path(), std::ios::binary);
  const Picture picture = picture_of(topology);
  if (graphml)
    write_graphml(picture, out);
  else
    write_dot(picture, out);
  out.close();
  if (!out || aside.put_into_place()) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace straggler
