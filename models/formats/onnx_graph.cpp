#include "models/formats/onnx_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "models/formats/protobuf.hpp"

namespace straggler::formats::onnx {
namespace {

using Type = WireField::Type;

constexpr std::size_t most_items = 1'000'000;  // nodes, tensors, and their names: each takes a hundred bytes here and may take two there

void check_count(std::size_t count, const char* what) {
  if (count >= most_items) throw WireError(fmt::format("there are more than {} {}", most_items, what));
}

/// Calls `take` with every field of a message.
template <class Take>
void for_fields(const WireReader& outer, std::string_view message, const Take& take) {
  WireReader reader(message, outer.place(message));
  for (WireField field; reader.next(field);) take(reader, field);
}

std::string_view text_of(const WireField& field) { return field.type == Type::bytes ? field.bytes : std::string_view(); }

/// Whole numbers as they lie in memory, in little-endian order.
void append_raw(std::string_view raw, std::size_t width, std::vector<std::int64_t>& numbers) {
  for (std::size_t at = 0; at + width <= raw.size() && numbers.size() < most_integers; at += width) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) value |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[at + i])) << (8 * i);
    numbers.push_back(width == 4 ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value));
  }
}

void append_raw(std::string_view raw, std::vector<double>& numbers) {
  for (std::size_t at = 0; at + sizeof(float) <= raw.size() && numbers.size() <= most_sides; at += sizeof(float)) {
    float number = 0;
    std::memcpy(&number, raw.data() + at, sizeof number);
    numbers.push_back(number);
  }
}

Tensor tensor_of(const WireReader& outer, std::string_view message) {
  Tensor tensor;
  std::string_view floats;
  for_fields(outer, message, [&](const WireReader&, const WireField& field) {
    if (field.number == 1) append_integers(field, most_sides + 1, tensor.sides);
    if (field.number == 2) tensor.type = field.integer();
    if (field.number == 4) floats = text_of(field);  // packed
    if (field.number == 5 || field.number == 7) append_integers(field, most_integers, tensor.integers);
    if (field.number == 8) tensor.name = text_of(field);
    if (field.number == 9) tensor.raw = text_of(field);
  });
  if (tensor.type == 7 || tensor.type == 6) append_raw(tensor.raw, tensor.type == 7 ? 8 : 4, tensor.integers);
  double count = 1;
  for (const std::int64_t side : tensor.sides) {
    if (side < 0) throw WireError(fmt::format("a tensor has a side of {}", side));
    count *= static_cast<double>(side);
  }
  if (tensor.sides.size() > most_sides) throw WireError(fmt::format("a tensor has more than {} sides", most_sides));
  if (!(count < 1e15)) throw WireError(fmt::format("a tensor would have {:.3g} numbers", count));
  if (tensor.type == 1 && tensor.sides.size() == 1 && count <= most_sides) append_raw(floats.empty() ? tensor.raw : floats, tensor.numbers);
  if (static_cast<double>(tensor.numbers.size()) != count) tensor.numbers.clear();
  tensor.has_integers = (tensor.type == 7 || tensor.type == 6) && static_cast<double>(tensor.integers.size()) == count;
  return tensor;
}

Attribute attribute_of(const WireReader& outer, std::string_view message) {
  Attribute attribute;
  for_fields(outer, message, [&](const WireReader& reader, const WireField& field) {
    if (field.number == 1) attribute.name = text_of(field);
    if (field.number == 2 && field.type == Type::fixed32) attribute.number = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    if (field.number == 3) attribute.integer = field.integer();
    if (field.number == 4) attribute.text = text_of(field);
    if (field.number == 5 && field.type == Type::bytes) attribute.tensor = tensor_of(reader, field.bytes);
    if (field.number == 6 || field.number == 11) attribute.graph = true;
    if (field.number == 8) append_integers(field, most_integers, attribute.integers);
  });
  return attribute;
}

Node node_of(const WireReader& outer, std::string_view message, std::size_t& names) {
  Node node;
  for_fields(outer, message, [&](const WireReader& reader, const WireField& field) {
    if (field.type != Type::bytes) return;
    if (field.number <= 2 || field.number == 5) check_count(++names, "inputs, outputs and attributes of nodes");
    if (field.number == 1) node.inputs.push_back(field.bytes);
    if (field.number == 2) node.outputs.push_back(field.bytes);
    if (field.number == 3) node.name = field.bytes;
    if (field.number == 4) node.op = field.bytes;
    if (field.number == 5) node.attributes.push_back(attribute_of(reader, field.bytes));
    if (field.number == 7) node.domain = field.bytes;
  });
  return node;
}

/// ValueInfoProto: type 2 { tensor_type 1 { shape 2 { dim 1 { dim_value 1, dim_param 2 } } } }
Value value_of(const WireReader& outer, std::string_view message) {
  Value value;
  const auto inside = [](std::uint32_t number, const auto& take) {
    return [number, &take](const WireReader& reader, const WireField& field) {
      if (field.number == number && field.type == Type::bytes) take(reader, field.bytes);
    };
  };
  const auto dim = [&](const WireReader& reader, std::string_view bytes) {
    Side side;
    for_fields(reader, bytes, [&](const WireReader&, const WireField& field) {
      if (field.number == 1 && field.type == Type::varint) side.size = std::max<std::int64_t>(field.integer(), 0);
      if (field.number == 2) side.symbol = text_of(field);
    });
    if (value.sides.size() == most_sides) throw WireError(fmt::format("a value has more than {} sides", most_sides));
    value.sides.push_back(side);
  };
  const auto shape = [&](const WireReader& reader, std::string_view bytes) {
    value.has_shape = true;
    for_fields(reader, bytes, inside(1, dim));
  };
  const auto tensor = [&](const WireReader& reader, std::string_view bytes) { for_fields(reader, bytes, inside(2, shape)); };
  const auto type = [&](const WireReader& reader, std::string_view bytes) { for_fields(reader, bytes, inside(1, tensor)); };
  for_fields(outer, message, [&](const WireReader& reader, const WireField& field) {
    if (field.number == 1) value.name = text_of(field);
    if (field.number == 2 && field.type == Type::bytes) type(reader, field.bytes);
  });
  return value;
}

Graph graph_of(const WireReader& outer, std::string_view message) {
  Graph graph;
  std::size_t names = 0;
  for_fields(outer, message, [&](const WireReader& reader, const WireField& field) {
    if (field.type != Type::bytes) return;
    const auto add = [&](auto& list, auto item, const char* what) {
      check_count(list.size(), what);
      list.push_back(std::move(item));
    };
    if (field.number == 1) add(graph.nodes, node_of(reader, field.bytes, names), "nodes");
    if (field.number == 5) add(graph.initializers, tensor_of(reader, field.bytes), "tensors");
    if (field.number == 11) add(graph.inputs, value_of(reader, field.bytes), "inputs");
    if (field.number == 12) add(graph.outputs, value_of(reader, field.bytes), "outputs");
    if (field.number == 13) add(graph.values, value_of(reader, field.bytes), "values");
  });
  return graph;
}

}  // namespace

const Attribute* Node::find(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(), [&](const Attribute& each) { return each.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

std::int64_t Node::integer(std::string_view attribute, std::int64_t otherwise) const {
  const Attribute* const found = find(attribute);
  return found != nullptr ? found->integer : otherwise;
}

const std::vector<std::int64_t>* Node::integers(std::string_view attribute) const {
  const Attribute* const found = find(attribute);
  return found != nullptr ? &found->integers : nullptr;
}

Graph parse_model(std::string_view bytes) {
  WireReader model(bytes);
  std::optional<Graph> graph;
  for (WireField field; model.next(field);)
    if (field.number == 7 && field.type == Type::bytes) graph = graph_of(model, field.bytes);
  if (!graph) throw WireError("there is no graph");
  return std::move(*graph);
}

bool may_be_model(std::string_view start) {
  // ir_version, names and versions, opset_import, metadata: small fields before the graph.
  // A safetensors file starts with a length of eight bytes.
  if (!start.starts_with('\x08') || (start.size() > 8 && start[8] == '{' && start.substr(5, 3) == std::string_view("\0\0\0", 3)))
    return false;
  try {
    WireReader reader(start);
    WireField field;
    for (int fields = 0; fields < 64; ++fields) {
      if (reader.next_of_bytes() == 7) return true;  // its bytes may lie behind the start
      if (!reader.next(field)) return false;
      const bool text = field.type == Type::bytes && (field.number <= 8 || field.number == 14);
      const bool number = field.type == Type::varint && (field.number == 1 || field.number == 5);
      if (!text && !number) return false;
    }
  } catch (const WireError&) {
  }
  return false;
}

}  // namespace straggler::formats::onnx
