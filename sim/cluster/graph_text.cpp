#include "sim/cluster/graph_text.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphml.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "sim/cluster/graph_guard.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_bytes = std::size_t{256} << 20;

// Attributes by their names in a file.
constexpr std::pair<const char*, std::string NodeText::*> node_fields[] = {
    {"name", &NodeText::name}, {"kind", &NodeText::kind}, {"rank", &NodeText::rank}, {"forwards", &NodeText::forwards}};
constexpr std::pair<const char*, std::string EdgeText::*> edge_fields[] = {{"name", &EdgeText::name},
                                                                           {"bandwidth", &EdgeText::bandwidth},
                                                                           {"latency", &EdgeText::latency},
                                                                           {"route_cost", &EdgeText::route_cost},
                                                                           {"route_order", &EdgeText::route_order},
                                                                           {"route_spread", &EdgeText::route_spread}};

/// Attributes for other programs, such as colours, are ignored; one that is nearly one of ours is a slip.
void refuse_slip(const std::string& name, const std::vector<std::string>& ours) {
  if (!nearest_name(name, ours).empty()) throw std::invalid_argument(unknown_name("attribute", name, ours));
}

template <class Fields>
std::vector<std::string> names_of(const Fields& fields) {
  std::vector<std::string> names;
  for (const auto& [name, field] : fields) names.emplace_back(name);
  return names;
}

std::string read_whole(const std::string& path) {
  FileText file = read_file(path, most_bytes + 1);
  if (file.fault == FileFault::missing || file.fault == FileFault::closed)
    throw std::invalid_argument("cannot be opened; give the path of a .graphml or .dot file that can be read");
  if (file.fault != FileFault::none) throw std::invalid_argument("cannot be read; give the path of a .graphml or .dot file");
  if (file.text.size() > most_bytes)
    throw std::invalid_argument("is larger than 256 MiB; describe the network by a registered topology instead");
  return std::move(file.text);
}

/// The part of a GraphML document that Boost.Graph drops: the nodes' ids, in order. Boost would take a repeated id for the same node and an
/// undeclared one for a new node.
std::vector<std::string> graphml_ids(const std::string& text) {
  std::istringstream in(text);
  boost::property_tree::ptree document;
  read_xml(in, document);
  std::vector<std::string> ids;
  std::map<std::string, bool> known;
  const boost::property_tree::ptree* graph = nullptr;
  for (const auto& child : document.get_child("graphml")) {
    if (child.first != "graph") continue;
    if (graph != nullptr) throw std::invalid_argument("has several graphs; put one into a file");
    graph = &child.second;
  }
  if (graph == nullptr) throw std::invalid_argument("has no <graph>; truncated?");
  for (const auto& child : *graph) {
    if (child.first != "node") continue;
    ids.push_back(child.second.get<std::string>("<xmlattr>.id"));
    if (!known.emplace(ids.back(), true).second)
      throw std::invalid_argument("has two nodes with id " + in_quotes(ids.back()) + "; give each its own");
    if (child.second.count("graph") > 0)
      throw std::invalid_argument("node " + in_quotes(ids.back()) + " has a graph inside; put all nodes into one");
  }
  for (const auto& child : *graph) {
    if (child.first != "edge") continue;
    for (const char* end : {"<xmlattr>.source", "<xmlattr>.target"}) {
      const std::string id = child.second.get<std::string>(end);
      if (known.find(id) == known.end())
        throw std::invalid_argument("has an edge to node " + in_quotes(id) + ", which is not declared; add it");
    }
  }
  return ids;
}

class GraphmlGraph final : public boost::mutate_graph {
 public:
  explicit GraphmlGraph(bool directed) { text.directed = directed; }
  bool is_directed() const override { return text.directed; }
  boost::any do_add_vertex() override {
    text.nodes.emplace_back();
    return text.nodes.size() - 1;
  }
  std::pair<boost::any, bool> do_add_edge(boost::any source, boost::any target) override {
    EdgeText edge;
    edge.source = boost::any_cast<std::size_t>(source);
    edge.target = boost::any_cast<std::size_t>(target);
    text.edges.push_back(std::move(edge));
    return {text.edges.size() - 1, true};
  }
  void set_graph_property(const std::string&, const std::string&, const std::string&) override {}
  void set_vertex_property(const std::string& name, boost::any vertex, const std::string& value, const std::string&) override {
    NodeText& node = text.nodes[boost::any_cast<std::size_t>(vertex)];
    for (const auto& [attribute, field] : node_fields)
      if (name == attribute) {
        node.*field = value;
        return;
      }
    refuse_slip(name, names_of(node_fields));
  }
  void set_edge_property(const std::string& name, boost::any at, const std::string& value, const std::string&) override {
    EdgeText& edge = text.edges[boost::any_cast<std::size_t>(at)];
    for (const auto& [attribute, field] : edge_fields)
      if (name == attribute) {
        edge.*field = value;
        return;
      }
    refuse_slip(name, names_of(edge_fields));
  }

  GraphText text;
};

GraphText read_graphml_as(const std::string& text, bool directed) {
  std::istringstream in(text);
  GraphmlGraph graph(directed);
  boost::read_graphml(in, graph, 0);
  const std::vector<std::string> ids = graphml_ids(text);
  if (ids.size() != graph.text.nodes.size()) throw std::logic_error("two readings of one GraphML text differ");
  for (std::size_t n = 0; n < ids.size(); ++n) graph.text.nodes[n].id = ids[n];
  return std::move(graph.text);
}

/// Directed: undirectedS or bidirectionalS, both of which keep the edges in the order of the file.
template <class Directed>
GraphText read_dot_as(const std::string& text) {
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, Directed, NodeText, EdgeText>;
  Graph graph;
  // DOT does not say whether an attribute is that of a node or an edge.
  std::vector<std::string> ours = names_of(node_fields);
  for (std::string& name : names_of(edge_fields))
    if (std::find(ours.begin(), ours.end(), name) == ours.end()) ours.push_back(std::move(name));
  boost::dynamic_properties properties([&](const std::string& name, const boost::any& key, const boost::any& value) {
    refuse_slip(name, ours);
    return boost::ignore_other_properties(name, key, value);
  });
  properties.property("node_id", get(&NodeText::id, graph));
  for (const auto& [attribute, field] : node_fields) properties.property(attribute, get(field, graph));
  for (const auto& [attribute, field] : edge_fields) properties.property(attribute, get(field, graph));
  boost::read_graphviz(text, graph, properties, "node_id");
  GraphText out;
  out.directed = !std::is_same_v<Directed, boost::undirectedS>;
  for (const auto node : boost::make_iterator_range(vertices(graph))) out.nodes.push_back(graph[node]);
  for (const auto edge : boost::make_iterator_range(edges(graph))) {
    out.edges.push_back(graph[edge]);
    out.edges.back().source = source(edge, graph);
    out.edges.back().target = target(edge, graph);
  }
  return out;
}

/// As undirected, else as directed.
template <class Reader>
GraphText either_way(Reader read) {
  try {
    return read(false);
  } catch (const boost::directed_graph_error&) {
  }
  try {
    return read(true);
  } catch (const boost::undirected_graph_error&) {
    throw std::invalid_argument("has both directed and undirected edges; write one kind, and of directed ones both directions");
  }
}

GraphText parse(const std::string& path, const std::string& text) {
  // Boost.Graph 1.74 numbers the edges of a DOT file by a counter that all threads share.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (path.ends_with(".graphml")) {
    guard_xml(text);
    return either_way([&](bool directed) { return read_graphml_as(text, directed); });
  }
  guard_dot(text);
  return either_way(
      [&](bool directed) { return directed ? read_dot_as<boost::bidirectionalS>(text) : read_dot_as<boost::undirectedS>(text); });
}

}  // namespace

GraphText read_graph_text(const std::string& path) {
  const bool graphml = path.ends_with(".graphml");
  try {
    if (!graphml && !path.ends_with(".dot")) throw std::invalid_argument("is neither .graphml nor .dot; name it after what it holds");
    return parse(path, read_whole(path));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(path + ": " + error.what());
  } catch (const std::exception& error) {
    throw std::invalid_argument(path + ": is not " + (graphml ? "GraphML" : "DOT") + " that can be read (" + error.what() +
                                "); write it as `straggler check --graph` does");
  }
}

}  // namespace straggler
