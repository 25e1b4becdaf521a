// What follows from the constants of an ONNX graph: of which weights a value is a copy, and the whole numbers that shapes are made of.
#include <algorithm>

#include "models/formats/onnx_shapes.hpp"

namespace straggler::formats::onnx {
namespace {

constexpr std::size_t most_origins = 16;  // of one value: weights of a recurrent layer

}  // namespace

std::optional<std::vector<std::int64_t>> Shapes::cut(const Node& node, const std::vector<std::int64_t>& in) const {
  const auto *const starts = list(node, "starts", 1), *const ends = list(node, "ends", 2), *const axes = list(node, "axes", 3);
  if (starts == nullptr || ends == nullptr || starts->size() != 1 || ends->size() != 1 || item(axes, 0, 0) != 0) return std::nullopt;
  const Sides* const sides = find(node.input(0));
  const auto size = static_cast<std::int64_t>(in.size());
  const std::int64_t rows = sides != nullptr && !sides->empty() && numbers_of(*sides) == static_cast<double>(size) ? (*sides)[0] : size;
  const std::optional<Cut> its = cut_of((*starts)[0], (*ends)[0], item(list(node, "steps", 4), 0, 1), rows);
  if (!its || rows == 0) return std::nullopt;
  std::vector<std::int64_t> made;
  const std::int64_t width = size / rows;
  for (std::int64_t i = 0; i < its->count; ++i)
    for (std::int64_t column = 0; column < width; ++column)
      made.push_back(in[static_cast<std::size_t>((its->from + i * its->step) * width + column)]);
  return made;
}

void Shapes::follow_constants(const Node& node) {
  static const Words copies = words_of("Identity Cast Transpose DequantizeLinear Reshape Unsqueeze Squeeze"),
                     cuts = words_of("Slice Expand Split"), all_inputs = words_of("Concat");
  if (node.outputs.empty()) return;
  if (node.op == "Constant") {
    if (const Attribute* const value = node.find("value"); value != nullptr && value->tensor && !value->tensor->numbers.empty())
      numbers_.try_emplace(node.outputs[0], value->tensor->numbers);
  }
  if (node.op == "Concat") {
    std::vector<double> joined;
    for (const std::string_view part : node.inputs) {
      const auto found = numbers_.find(part);
      if (found == numbers_.end() || joined.size() + found->second.size() > most_sides) {
        joined.clear();
        break;
      }
      joined.insert(joined.end(), found->second.begin(), found->second.end());
    }
    if (!joined.empty()) numbers_.try_emplace(node.outputs[0], std::move(joined));
  }
  if (node.op == "Constant" || (node.op == "ConstantOfShape" && is_constant(node.input(0)))) {
    constants_.try_emplace(node.outputs[0], std::vector{node.outputs[0]});
  } else if (copies.contains(node.op) && is_constant(node.input(0))) {
    constants_.try_emplace(node.outputs[0], origins(node.input(0)));
  } else if (cuts.contains(node.op) || all_inputs.contains(node.op)) {  // of weights: elsewhere these are operations
    std::vector<std::string_view> from;
    for (std::size_t i = 0; i < (cuts.contains(node.op) ? 1 : node.inputs.size()); ++i) {
      const std::vector<std::string_view>& its = origins(node.inputs.empty() ? std::string_view() : node.inputs[i]);
      const bool weights = !its.empty() && std::ranges::all_of(its, [&](std::string_view each) { return weights_.contains(each); });
      if (!weights || from.size() + its.size() > most_origins) return;
      for (const std::string_view each : its)
        if (std::ranges::find(from, each) == from.end()) from.push_back(each);
    }
    for (const std::string_view out : node.outputs) constants_.try_emplace(out, from);
  }
}

void Shapes::follow_integers(const Node& node) {
  if (node.outputs.empty()) return;
  const std::string_view op = node.op, out = node.outputs[0];
  const auto* const in = integers(node.input(0));
  std::optional<std::vector<std::int64_t>> made;
  if (op == "Constant") {
    if (const Attribute* const value = node.find("value"); value != nullptr && value->tensor && value->tensor->has_integers)
      made = value->tensor->integers;
    if (const auto* const list = node.integers("value_ints"); list != nullptr) made = *list;
    if (const Attribute* const value = node.find("value_int"); value != nullptr) made = {value->integer};
  } else if (op == "Shape") {
    if (const Sides* const sides = find(node.input(0)); sides != nullptr) made = *sides;
  } else if (in != nullptr && (op == "Cast" || op == "Identity" || op == "Unsqueeze" || op == "Squeeze" || op == "Reshape")) {
    made = *in;
  } else if (op == "Gather" && in != nullptr && integers(node.input(1)) != nullptr) {
    made.emplace();
    for (const std::int64_t each : *integers(node.input(1))) {
      const std::optional<std::size_t> at = axis_of(each, in->size());
      if (!at) return;
      made->push_back((*in)[*at]);
    }
  } else if (op == "Concat") {
    made.emplace();
    for (const std::string_view part : node.inputs) {
      const auto* const list = integers(part);
      if (list == nullptr || made->size() + list->size() > most_integers) return;
      made->insert(made->end(), list->begin(), list->end());
    }
  } else if (op == "Slice" && in != nullptr) {
    made = cut(node, *in);
  } else if (op == "ConstantOfShape" && in != nullptr && in->size() == 1 && in->front() >= 0 &&
             in->front() <= static_cast<std::int64_t>(most_integers)) {
    const Attribute* const value = node.find("value");
    if (value == nullptr || !value->tensor || !value->tensor->has_integers || value->tensor->integers.empty()) return;
    made.emplace(static_cast<std::size_t>(in->front()), value->tensor->integers.front());
  } else if (op == "Transpose" && in != nullptr) {
    const Sides* const sides = find(node.input(0));
    if (sides == nullptr || sides->size() != 2 || numbers_of(*sides) != static_cast<double>(in->size())) return;
    const std::vector<std::int64_t>* const order = node.integers("perm");
    if (order != nullptr && *order != std::vector<std::int64_t>{1, 0}) return;
    made.emplace();
    const auto rows = static_cast<std::size_t>((*sides)[0]), width = static_cast<std::size_t>((*sides)[1]);
    for (std::size_t column = 0; column < width; ++column)
      for (std::size_t row = 0; row < rows; ++row) made->push_back((*in)[row * width + column]);
  } else if (op == "Where" && in != nullptr) {
    const auto *const yes = integers(node.input(1)), *const no = integers(node.input(2));
    if (yes == nullptr || no == nullptr) return;
    const std::size_t size = std::max({in->size(), yes->size(), no->size()});
    for (const auto* each : {in, yes, no})
      if (each->size() != size && each->size() != 1) return;
    made.emplace();
    const auto at = [](const std::vector<std::int64_t>& list, std::size_t i) { return list[list.size() == 1 ? 0 : i]; };
    for (std::size_t i = 0; i < size; ++i) made->push_back(at(*in, i) != 0 ? at(*yes, i) : at(*no, i));
  } else if (const auto* const other = integers(node.input(1));
             in != nullptr && other != nullptr && !in->empty() && !other->empty() &&
             (op == "Add" || op == "Sub" || op == "Mul" || op == "Div" || op == "Equal")) {
    const std::size_t size = std::max(in->size(), other->size());
    if ((in->size() != size && in->size() != 1) || (other->size() != size && other->size() != 1)) return;
    made.emplace();
    for (std::size_t i = 0; i < size; ++i) {
      const std::int64_t a = (*in)[in->size() == 1 ? 0 : i], b = (*other)[other->size() == 1 ? 0 : i];
      if (std::max(a, b) > longest_side || std::min(a, b) < -longest_side || (op == "Div" && b == 0)) return;
      made->push_back(op == "Equal" ? (a == b ? 1 : 0) : op == "Add" ? a + b : op == "Sub" ? a - b : op == "Mul" ? a * b : a / b);
    }
  }
  if (made && made->size() <= most_integers) integers_[out] = std::move(*made);
}

}  // namespace straggler::formats::onnx
