#include "scenarios/import/chakra_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "models/formats/protobuf.hpp"
#include "models/formats/reading.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::import_chakra_trace {
namespace {

constexpr std::uintmax_t largest = 512 << 20, largest_json = 64 << 20;
constexpr std::size_t most_nodes = 20'000'000, most_dependencies = 100'000'000;
constexpr double longest = 1e13;  // microseconds of a node
constexpr double most_bytes = 1e15;

enum NodeType : std::uint8_t { computing = 4, sending = 5, receiving = 6, collective = 7 };

struct Node {
  std::uint64_t id = 0;
  std::uint8_t type = 0;
  bool gpu = false, backward = false;
  bool placed = false;  // it says whether it ran on the GPU
  double microseconds = 0;
  std::optional<std::int64_t> kind;  // comm_type
  std::optional<double> bytes;
  std::string name;  // of a collective on the GPU
  std::size_t first = 0, waits = 0;
};

/// CollectiveCommType of et_def.proto.
TraceCollective kind_of(const Node& node) {
  if (node.kind) switch (*node.kind) {
      case 0:
        return TraceCollective::all_reduce;
      case 2:
        return TraceCollective::all_gather;
      case 5:
        return TraceCollective::broadcast;
      case 6:
        return TraceCollective::all_to_all;
      case 7:
        return TraceCollective::reduce_scatter;
      default:
        return TraceCollective::other;
    }
  return collective_called(node.name.substr(0, node.name.find('(')));
}

class Nodes {
 public:
  explicit Nodes(std::string shown) : shown_(std::move(shown)) {}
  [[noreturn]] void refuse(const std::string& what) const { throw DataError(shown_ + ": " + what); }

  Node& add() {
    if (nodes_.size() == most_nodes) refuse("has more than 20 million nodes; give the trace of one step");
    Node& made = nodes_.emplace_back();
    made.first = waits_.size();
    return made;
  }
  void named(Node& node, std::string_view name) const {
    node.backward = name.find("ackward") != std::string_view::npos || name.find("autograd") != std::string_view::npos;
    node.name.assign(name.substr(0, 200));
  }
  void wait(Node& node, std::uint64_t id) {
    if (waits_.size() == most_dependencies) refuse("has more than 100 million dependencies; give the trace of one step");
    waits_.push_back(id);
    ++node.waits;
  }
  void lasts(Node& node, double microseconds) const {
    if (!(microseconds >= 0 && microseconds <= longest))
      refuse(fmt::format("node {} takes {:g} microseconds, as none does; get the original file", node.id, microseconds));
    node.microseconds = microseconds;
  }
  void done(Node& node) const {
    if (node.type != collective || (node.placed && !node.gpu)) node.name.clear();
  }

  ChakraTrace replay() {
    if (nodes_.empty()) refuse("is an execution trace without nodes; record a step of training");
    std::vector<const Node*> order;  // ids are in the order in which nodes were issued
    for (const Node& node : nodes_) order.push_back(&node);
    std::ranges::stable_sort(order, {}, &Node::id);
    std::unordered_map<std::uint64_t, std::size_t> place;
    for (std::size_t i = 0; i < order.size(); ++i) place.emplace(order[i]->id, i);
    ChakraTrace made;
    made.nodes = nodes_.size();
    const bool placed = std::ranges::any_of(nodes_, &Node::placed);
    made.dependencies = data_;
    std::vector<double> ends(order.size(), 0);
    double stream = 0, of_collectives = 0;
    bool backward = false;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Node& node = *order[i];
      const bool gpu = node.gpu || !placed;
      double begin = 0;
      std::size_t issuer = order.size();
      for (std::size_t w = 0; w < node.waits; ++w) {
        const auto found = place.find(waits_[node.first + w]);
        if (found == place.end()) {
          ++made.lost;
        } else if (found->second < i) {
          begin = std::max(begin, ends[found->second]);
          if (!order[found->second]->gpu && placed && (issuer == order.size() || found->second > issuer)) issuer = found->second;
        }
      }
      const bool communicates = node.type >= sending && node.type <= collective;
      if (gpu) begin = std::max(begin, communicates ? of_collectives : stream);
      ends[i] = begin + node.microseconds * 1e-6;
      made.seconds = std::max(made.seconds, ends[i]);
      if (!gpu) continue;
      if (communicates) {
        of_collectives = ends[i];
        made.collectives.push_back({node.type == collective ? kind_of(node) : TraceCollective::all_to_all, node.name, node.bytes, begin,
                                    node.microseconds * 1e-6});
        continue;
      }
      stream = ends[i];
      made.computing_ends = stream;
      made.computing += node.microseconds * 1e-6;
      ++made.kernels;
      if (issuer == order.size() || !order[issuer]->backward) continue;
      if (!backward) made.backward_begins = begin;
      backward = true;
      made.backward_ends = ends[i];
    }
    return made;
  }

  std::size_t data_ = 0;  // data dependencies

 private:
  std::string shown_;
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> waits_;
};

// --- protobuf

double as_double(std::uint64_t bits) {
  double value = 0;
  static_assert(sizeof(value) == sizeof(bits));
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

void attribute(std::string_view bytes, Node& node) {
  WireReader reader(bytes);
  std::string_view name;
  std::optional<double> number;
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && field.type == WireField::Type::bytes)
      name = field.bytes;
    else if (field.type == WireField::Type::varint)  // sint32 and sint64 are in zigzag
      number = field.number == 15 || field.number == 17
                   ? static_cast<double>(static_cast<std::int64_t>(field.value >> 1) ^ -static_cast<std::int64_t>(field.value & 1))
                   : static_cast<double>(field.integer());
    else if (field.type == WireField::Type::fixed64)
      number = field.number == 3 ? as_double(field.value) : static_cast<double>(field.integer());
  }
  if (!number) return;
  if (name == "is_cpu_op") node.gpu = *number == 0, node.placed = true;
  if (name == "comm_type" && *number >= 0 && *number <= 100) node.kind = static_cast<std::int64_t>(*number);
  if (name == "comm_size" && *number >= 0 && *number <= most_bytes) node.bytes = *number;
}

/// Of packed or single numbers.
void dependencies(const WireField& field, Nodes& nodes, Node& node) {
  std::vector<std::int64_t> ids;
  append_integers(field, most_dependencies, ids);
  for (const std::int64_t id : ids) nodes.wait(node, static_cast<std::uint64_t>(id));
  if (field.number == 5) nodes.data_ += ids.size();
}

void message(std::string_view bytes, std::size_t start, Nodes& nodes) {
  WireReader reader(bytes, start);
  Node& node = nodes.add();
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && field.type == WireField::Type::varint) node.id = field.value;
    if (field.number == 2 && field.type == WireField::Type::bytes) nodes.named(node, field.bytes);
    if (field.number == 3 && field.type == WireField::Type::varint)
      node.type = static_cast<std::uint8_t>(std::min<std::uint64_t>(field.value, 255));
    if (field.number == 4 || field.number == 5) dependencies(field, nodes, node);
    if (field.number == 7 && field.type == WireField::Type::varint) nodes.lasts(node, static_cast<double>(field.value));
    if (field.number == 10 && field.type == WireField::Type::bytes) attribute(field.bytes, node);
  }
  nodes.done(node);
}

void read_wire(std::string_view rest, Nodes& nodes) {
  const std::size_t size = rest.size();
  std::string_view bytes;
  take_message(rest, bytes);  // metadata
  while (!rest.empty()) {
    const std::size_t at = size - rest.size();
    if (!take_message(rest, bytes)) nodes.refuse(fmt::format("ends within a node, at byte {}; get the whole file", at));
    try {
      message(bytes, at, nodes);
    } catch (const WireError& error) {
      nodes.refuse(fmt::format("has a damaged node, {}; get an undamaged file", error.what()));
    }
  }
}

/// A node: its id, name and type.
bool is_node(std::string_view bytes) {
  bool id = false, name = false, type = false;
  try {
    WireReader reader(bytes);
    for (WireField field; reader.next(field);) {
      if (field.number > 40) return false;
      id = id || (field.number == 1 && field.type == WireField::Type::varint);
      name = name || (field.number == 2 && field.type == WireField::Type::bytes && !field.bytes.empty() &&
                      field.bytes.find('\0') == std::string_view::npos);
      type = type || (field.number == 3 && field.type == WireField::Type::varint && field.value <= 16);
    }
  } catch (const WireError&) {
    return false;
  }
  return id && name && type;
}

// --- JSON

void read_json(const GivenFile& file, std::string_view text, Nodes& nodes) {
  const nlohmann::json root = json_map(file.shown(), text);
  const auto graph = root.find("workload_graph");
  if (graph == root.end() || !graph->is_array()) nodes.refuse("is JSON of Chakra without the list workload_graph; get the original file");
  const auto number = [&](const nlohmann::json& each, const char* key) -> std::optional<double> {
    const auto found = each.find(key);
    if (found == each.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
  };
  const auto id_of = [&](const nlohmann::json& value) {
    if (!value.is_number_integer()) nodes.refuse("has an Id that is no whole number; get the original file");
    return value.get<std::uint64_t>();
  };
  for (const nlohmann::json& each : *graph) {
    if (!each.is_object() || !each.contains("Id")) nodes.refuse("has a node without an Id; get the original file");
    Node& node = nodes.add();
    node.id = id_of(each["Id"]);
    if (const auto name = each.find("Name"); name != each.end() && name->is_string())
      nodes.named(node, name->get_ref<const std::string&>());
    node.type = static_cast<std::uint8_t>(std::clamp(number(each, "NodeType").value_or(0), 0.0, 255.0));
    if (const auto cpu = each.find("is_cpu_op"); cpu != each.end() && cpu->is_boolean()) node.gpu = !cpu->get<bool>(), node.placed = true;
    nodes.lasts(node, number(each, "runtime").value_or(0));
    if (const std::optional<double> size = number(each, "comm_size"); size && *size >= 0 && *size <= most_bytes) node.bytes = size;
    if (const std::optional<double> kind = number(each, "comm_type"); kind && *kind >= 0 && *kind <= 100)
      node.kind = static_cast<std::int64_t>(*kind);
    for (const char* list : {"ctrlDeps", "data_deps"})
      if (const auto found = each.find(list); found != each.end() && found->is_array())
        for (const nlohmann::json& id : *found) {
          nodes.wait(node, id_of(id));
          nodes.data_ += *list == 'd';
        }
    nodes.done(node);
  }
}

}  // namespace
}  // namespace straggler::import_chakra_trace

namespace straggler {

bool is_chakra(const FileStart& start) {
  const std::string_view text = trimmed(start.bytes);
  if (text.starts_with('{'))
    return text.find("\"workload_graph\"") != std::string_view::npos && text.find("\"NodeType\"") != std::string_view::npos;
  std::string_view rest = start.bytes, bytes;
  return take_message(rest, bytes) && take_message(rest, bytes) && import_chakra_trace::is_node(bytes);
}

ChakraTrace read_chakra_trace(const GivenFile& file) {
  using namespace import_chakra_trace;
  Nodes nodes(file.shown().string());
  if (file.size() > largest) nodes.refuse("has more than 512 MiB; give the trace of one step");
  const std::string text = file.text(largest);
  if (trimmed(std::string_view(text).substr(0, 100)).starts_with('{')) {
    if (text.size() > largest_json) nodes.refuse("has more than 64 MiB of JSON; give the trace of one step");
    read_json(file, text, nodes);
  } else {
    read_wire(text, nodes);
  }
  return nodes.replay();
}

}  // namespace straggler
