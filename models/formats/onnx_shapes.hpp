// The shapes of an ONNX graph's values, node by node in the file's order, so that a cycle cannot keep it busy.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "models/formats/onnx_graph.hpp"
#include "models/formats/onnx_rules.hpp"

namespace straggler::formats::onnx {

class Shapes {
 public:
  /// `places`: size of symbols other than the batch's, which is 1.
  Shapes(const Graph& graph, std::size_t places);

  /// Null: not known.
  const Sides* find(std::string_view value) const;
  /// Whether the value is in the file, or made of what is.
  bool is_constant(std::string_view value) const { return constants_.contains(value); }
  /// Those of which this is a copy, perhaps cast, turned, cut or joined.
  const std::vector<std::string_view>& origins(std::string_view value) const;
  /// Notes the shapes of the node's outputs. To be called for every node in order.
  void infer(const Node& node);

  std::size_t batch() const { return batch_; }
  /// Some input has symbols besides the batch's.
  bool has_symbols() const { return has_symbols_; }
  const Sides& first_input() const { return first_input_; }

 private:
  using Outputs = std::vector<std::optional<Sides>>;
  void declare(const Value& value);
  Outputs outputs_of(const Node& node) const;
  std::optional<Sides> reshaped(const Node& node, const Sides& in) const;
  std::optional<Sides> sliced(const Node& node, const Sides& in) const;
  std::optional<Sides> reduced(const Node& node, const Sides& in) const;
  std::optional<Sides> resized(const Node& node, const Sides& in) const;
  void follow_constants(const Node& node);
  void follow_integers(const Node& node);
  /// Of rows [rows][row] of whole numbers, by the node's attributes. Nothing: not along the first axis.
  std::optional<std::vector<std::int64_t>> cut(const Node& node, const std::vector<std::int64_t>& in) const;
  const std::vector<std::int64_t>* integers(std::string_view value) const;
  /// Of the attribute, in new versions of the input at that place.
  const std::vector<std::int64_t>* list(const Node& node, const char* attribute, std::size_t input) const;

  std::unordered_map<std::string_view, Sides> known_;
  std::unordered_map<std::string_view, Sides> declared_;  // by the file; used where nothing else is known
  std::unordered_map<std::string_view, std::vector<std::int64_t>> integers_;
  std::unordered_map<std::string_view, std::vector<double>> numbers_;
  std::unordered_map<std::string_view, std::vector<std::string_view>> constants_;  // their origins
  std::unordered_set<std::string_view> weights_;                                   // initializers of floats
  std::size_t places_, batch_ = 1;
  Sides first_input_;
  std::string_view batch_symbol_;
  bool has_symbols_ = false;
};

}  // namespace straggler::formats::onnx
