// ONNX files, field by field as onnx.proto numbers them.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace straggler::test {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7F));
  return out + static_cast<char>(value);
}
inline std::string number_field(int number, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(static_cast<std::uint64_t>(value));
}
inline std::string bytes_field(int number, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}

/// TensorProto without numbers: type 1 is FLOAT. Its bytes lie elsewhere, as in large models.
inline std::string weight(const std::string& name, const std::vector<std::int64_t>& sides, int type = 1) {
  std::string out;
  for (const std::int64_t side : sides) out += number_field(1, side);
  return out + number_field(2, type) + bytes_field(8, name);
}
/// INT64, with its numbers packed.
inline std::string integers(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string packed;
  for (const std::int64_t value : values) packed += varint(static_cast<std::uint64_t>(value));
  return number_field(1, static_cast<std::int64_t>(values.size())) + number_field(2, 7) + bytes_field(7, packed) + bytes_field(8, name);
}

inline std::string list_attribute(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string out = bytes_field(1, name);
  for (const std::int64_t value : values) out += number_field(8, value);
  return out;
}
inline std::string number_attribute(const std::string& name, std::int64_t value) { return bytes_field(1, name) + number_field(3, value); }

inline std::string node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                        const std::vector<std::string>& attributes = {}, const std::string& name = {}) {
  std::string out;
  for (const std::string& input : inputs) out += bytes_field(1, input);
  for (const std::string& output : outputs) out += bytes_field(2, output);
  if (!name.empty()) out += bytes_field(3, name);
  out += bytes_field(4, op);
  for (const std::string& attribute : attributes) out += bytes_field(5, attribute);
  return out;
}

/// ValueInfoProto. A side of 0 is the symbol "batch", one of -1 the symbol "sequence".
inline std::string value(const std::string& name, const std::vector<std::int64_t>& sides) {
  std::string shape;
  for (const std::int64_t side : sides)
    shape += bytes_field(1, side > 0 ? number_field(1, side) : bytes_field(2, side == 0 ? "batch" : "sequence"));
  return bytes_field(1, name) + bytes_field(2, bytes_field(1, number_field(1, 1) + bytes_field(2, shape)));
}

struct OnnxFile {
  std::vector<std::string> nodes, tensors, inputs, outputs;

  std::string bytes() const {
    std::string graph;
    for (const std::string& each : nodes) graph += bytes_field(1, each);
    graph += bytes_field(2, "graph");
    for (const std::string& each : tensors) graph += bytes_field(5, each);
    for (const std::string& each : inputs) graph += bytes_field(11, each);
    for (const std::string& each : outputs) graph += bytes_field(12, each);
    return number_field(1, 8) + bytes_field(2, "tests") + bytes_field(7, graph) + bytes_field(8, number_field(2, 17));
  }
};

}  // namespace straggler::test
