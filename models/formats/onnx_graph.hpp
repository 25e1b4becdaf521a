// The parts of an ONNX file (github.com/onnx/onnx, onnx.proto) that tell a network's shapes and costs. Names are views of the file's bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace straggler::formats::onnx {

inline constexpr std::size_t most_sides = 16;       // of a tensor
inline constexpr std::size_t most_integers = 1024;  // of an attribute, or of a tensor of whole numbers; more say nothing about shapes

struct Tensor {
  std::string_view name;
  std::vector<std::int64_t> sides;
  std::int64_t type = 0;               // TensorProto.DataType: 1 FLOAT, 7 INT64, …
  std::vector<std::int64_t> integers;  // of a small tensor of INT64 or INT32
  bool has_integers = false;
  std::vector<double> numbers;  // of a FLOAT of a side of each dimension, such as scales; else empty
  std::string_view raw;         // all its numbers as they lie in memory; empty: they are elsewhere
  bool is_float() const { return type == 1 || type == 10 || type == 11 || type == 16 || (type >= 17 && type <= 20); }
};

struct Attribute {
  std::string_view name, text;
  std::int64_t integer = 0;
  float number = 0;
  std::vector<std::int64_t> integers;
  std::optional<Tensor> tensor;
  bool graph = false;  // it holds a graph of its own: the body of an If or a Loop
};

struct Node {
  std::string_view name, op, domain;
  std::vector<std::string_view> inputs, outputs;
  std::vector<Attribute> attributes;

  const Attribute* find(std::string_view attribute) const;
  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  /// Null if it is not there.
  const std::vector<std::int64_t>* integers(std::string_view attribute) const;
  std::string_view input(std::size_t at) const { return at < inputs.size() ? inputs[at] : std::string_view(); }
};

/// A side of a declared shape: a number, or a symbol such as "batch_size" (empty: unknown).
struct Side {
  std::int64_t size = 0;  // 0: not given
  std::string_view symbol;
};

struct Value {
  std::string_view name;
  bool has_shape = false;
  std::vector<Side> sides;
};

struct Graph {
  std::vector<Node> nodes;  // in the file's order, which is that of computing
  std::vector<Tensor> initializers;
  std::vector<Value> inputs, outputs, values;  // values: shapes of what is between
};

/// Throws WireError ("at byte 17: …"), also where a list is longer than any network's.
Graph parse_model(std::string_view bytes);

/// Whether bytes at the start of a file can be a model: known fields up to its graph.
bool may_be_model(std::string_view start);

}  // namespace straggler::formats::onnx
