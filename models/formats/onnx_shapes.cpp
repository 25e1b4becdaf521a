#include "models/formats/onnx_shapes.hpp"

#include <algorithm>
#include <cmath>

namespace straggler::formats::onnx {
namespace {

/// Outputs have the shape of the first input.
const Words same_shape = words_of(
    "Abs BatchNormalization Cast CastLike Ceil Celu Clip Cos CumSum DequantizeLinear Dropout Elu Erf Exp Floor Gelu "
    "GroupNormalization HardSigmoid HardSwish Identity InstanceNormalization LayerNormalization LeakyRelu LRN Log LogSoftmax "
    "LpNormalization MeanVarianceNormalization Mish Neg Not PRelu QuantizeLinear Reciprocal Relu Round Scatter "
    "ScatterElements ScatterND Selu Sigmoid Sign SimplifiedLayerNormalization Sin Softmax Softplus Softsign Sqrt Tanh "
    "ThresholdedRelu Trilu");

/// Inputs are stretched to a common shape.
const Words stretched = words_of("Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or Pow Sub Sum Where Xor");

}  // namespace

Shapes::Shapes(const Graph& graph, std::size_t places) : places_(places) {
  for (const Tensor& tensor : graph.initializers) {
    known_[tensor.name] = tensor.sides;
    constants_[tensor.name] = {tensor.name};
    if (tensor.is_float()) weights_.insert(tensor.name);
    if (tensor.has_integers) integers_[tensor.name] = tensor.integers;
    if (!tensor.numbers.empty()) numbers_[tensor.name] = tensor.numbers;
  }
  bool first = true;
  for (const Value& input : graph.inputs) {
    if (constants_.contains(input.name)) continue;  // old files name weights as inputs, too
    if (first && input.has_shape && !input.sides.empty()) {
      batch_ = static_cast<std::size_t>(std::clamp<std::int64_t>(input.sides[0].size, 1, longest_side));
      batch_symbol_ = input.sides[0].symbol;
    }
    declare(input);
    if (const auto found = declared_.find(input.name); found != declared_.end()) {
      known_[input.name] = found->second;
      if (first) first_input_ = found->second;
    }
    first = false;
  }
  for (const Value& value : graph.values) declare(value);
  for (const Value& value : graph.outputs) declare(value);
}

void Shapes::declare(const Value& value) {
  if (!value.has_shape) return;
  Sides sides;
  for (std::size_t i = 0; i < value.sides.size(); ++i) {
    const Side& side = value.sides[i];
    if (side.size > longest_side) return;
    const bool batch = i == 0 && (side.symbol.empty() || side.symbol == batch_symbol_);
    if (side.size == 0 && !batch) has_symbols_ = true;
    sides.push_back(side.size > 0 ? side.size : batch ? 1 : static_cast<std::int64_t>(places_));
  }
  declared_[value.name] = std::move(sides);
}

const Sides* Shapes::find(std::string_view value) const {
  const auto found = known_.find(value);
  return found == known_.end() ? nullptr : &found->second;
}

const std::vector<std::string_view>& Shapes::origins(std::string_view value) const {
  static const std::vector<std::string_view> none;
  const auto found = constants_.find(value);
  return found == constants_.end() ? none : found->second;
}

const std::vector<std::int64_t>* Shapes::integers(std::string_view value) const {
  const auto found = integers_.find(value);
  return found == integers_.end() ? nullptr : &found->second;
}

const std::vector<std::int64_t>* Shapes::list(const Node& node, const char* attribute, std::size_t input) const {
  const std::vector<std::int64_t>* const own = node.integers(attribute);
  return own != nullptr ? own : node.input(input).empty() ? nullptr : integers(node.input(input));
}

std::optional<Sides> Shapes::reshaped(const Node& node, const Sides& in) const {
  const std::vector<std::int64_t>* const wanted = list(node, "shape", 1);
  if (wanted == nullptr || wanted->size() > most_sides) return std::nullopt;
  Sides out = *wanted;
  double product = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0 && node.integer("allowzero", 0) == 0) {
      if (i >= in.size()) return std::nullopt;
      out[i] = in[i];
    }
    if (out[i] == -1 && !open)
      open = i;
    else if (out[i] < 0 || out[i] > longest_side)
      return std::nullopt;
    else
      product *= static_cast<double>(out[i]);
  }
  const double all = numbers_of(in);
  if (open) {
    if (product == 0 || all / product > static_cast<double>(longest_side)) return std::nullopt;
    out[*open] = static_cast<std::int64_t>(all / product);
    product *= static_cast<double>(out[*open]);
  }
  if (product != all) return std::nullopt;
  return out;
}

std::optional<Sides> Shapes::sliced(const Node& node, const Sides& in) const {
  const std::vector<std::int64_t>*const starts = list(node, "starts", 1), *const ends = list(node, "ends", 2);
  const std::vector<std::int64_t>*const axes = list(node, "axes", 3), *const steps = list(node, "steps", 4);
  if (starts == nullptr || ends == nullptr || starts->size() != ends->size()) return std::nullopt;
  Sides out = in;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::optional<std::size_t> axis = axis_of(item(axes, i, static_cast<std::int64_t>(i)), in.size());
    const std::int64_t step = item(steps, i, 1);
    if (!axis) return std::nullopt;
    const std::optional<Cut> its = cut_of((*starts)[i], (*ends)[i], step, in[*axis]);
    if (!its) return std::nullopt;
    out[*axis] = its->count;
  }
  return out;
}

std::optional<Sides> Shapes::resized(const Node& node, const Sides& in) const {
  if (const auto* const sizes = integers(node.input(3)); sizes != nullptr) {
    const bool fits = std::ranges::all_of(*sizes, [](std::int64_t side) { return side >= 1 && side <= longest_side; });
    return fits && sizes->size() == in.size() ? std::optional(*sizes) : std::nullopt;
  }
  for (const std::size_t at : {2, 1}) {  // of Resize; of Upsample and of Resize before version 11
    const auto scales = numbers_.find(node.input(at));
    if (scales == numbers_.end() || scales->second.size() != in.size()) continue;
    Sides out;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double side = std::floor(static_cast<double>(in[i]) * scales->second[i]);
      if (!(side >= 1 && side <= static_cast<double>(longest_side))) return std::nullopt;
      out.push_back(static_cast<std::int64_t>(side));
    }
    return out;
  }
  return std::nullopt;
}

std::optional<Sides> Shapes::reduced(const Node& node, const Sides& in) const {
  const std::vector<std::int64_t>* const axes = list(node, "axes", 1);
  std::vector<bool> gone(in.size(), axes == nullptr || axes->empty());
  if (axes != nullptr)
    for (const std::int64_t each : *axes) {
      const std::optional<std::size_t> axis = axis_of(each, in.size());
      if (!axis) return std::nullopt;
      gone[*axis] = true;
    }
  Sides out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!gone[i])
      out.push_back(in[i]);
    else if (node.integer("keepdims", 1) != 0)
      out.push_back(1);
  }
  return out;
}

Shapes::Outputs Shapes::outputs_of(const Node& node) const {
  const std::string_view op = node.op;
  const Sides* const in = find(node.input(0));
  if (op == "Constant") {
    if (const Attribute* const value = node.find("value"); value != nullptr && value->tensor) return {value->tensor->sides};
    if (const auto* const list = node.integers("value_ints"); list != nullptr) return {Sides{static_cast<std::int64_t>(list->size())}};
    return {Sides{}};
  }
  if (op == "ConstantOfShape" || op == "Expand") {
    const auto* const sides = integers(node.input(op == "Expand" ? 1 : 0));
    if (sides == nullptr || sides->size() > most_sides) return {};
    for (const std::int64_t side : *sides)
      if (side < 0 || side > longest_side) return {};
    if (op == "ConstantOfShape") return {*sides};
    return in == nullptr ? Outputs{} : Outputs{common(*in, *sides)};
  }
  if (in == nullptr) return {};
  if (op == "Shape") return {Sides{static_cast<std::int64_t>(in->size())}};
  if (same_shape.contains(op)) return {*in};
  if (stretched.contains(op)) {
    std::optional<Sides> out = *in;
    for (const std::string_view other : node.inputs) {
      const Sides* const sides = find(other);
      out = sides != nullptr && out ? common(*out, *sides) : std::nullopt;
    }
    return {out};
  }
  if (op.starts_with("Reduce")) return {reduced(node, *in)};
  if (op == "Reshape") return {reshaped(node, *in)};
  if (op == "Slice") return {sliced(node, *in)};
  if (op == "Resize" || op == "Upsample") return {resized(node, *in)};
  if (op == "DepthToSpace" || op == "SpaceToDepth") return {of_blocks(node, *in)};
  if (op == "Einsum") {
    const Sides* const other = node.inputs.size() > 1 ? find(node.input(1)) : nullptr;
    if (node.inputs.size() > 2 || (node.inputs.size() == 2 && other == nullptr)) return {};
    const std::optional<Einsum> its = einsum_of(node, *in, other);
    return its ? Outputs{its->out} : Outputs{};
  }
  if (op == "TopK") {
    const std::optional<std::size_t> axis = axis_of(node.integer("axis", -1), in->size());
    const auto* const most = integers(node.input(1));
    if (!axis || most == nullptr || most->size() != 1 || most->front() < 0 || most->front() > (*in)[*axis]) return {};
    Sides out = *in;
    out[*axis] = most->front();
    return {out, out};
  }
  if (op == "GridSample") {
    const Sides* const grid = find(node.input(1));
    if (grid == nullptr || grid->size() != in->size() || in->size() < 3) return {};
    Sides out = {(*in)[0], (*in)[1]};
    out.insert(out.end(), grid->begin() + 1, grid->end() - 1);
    return {out};
  }
  if (op == "Conv" || op == "ConvTranspose") {
    const Sides* const weight = find(node.input(1));
    if (weight == nullptr || weight->size() < 3) return {};
    if (op == "ConvTranspose") return {widened(node, *in, *weight)};
    return {slid(node, *in, {weight->begin() + 2, weight->end()}, (*weight)[0])};
  }
  if (op == "MaxPool" || op == "AveragePool" || op == "LpPool") {
    const std::vector<std::int64_t>* const window = node.integers("kernel_shape");
    if (window == nullptr || in->size() < 3) return {};
    return {slid(node, *in, *window, (*in)[1])};
  }
  if (op.starts_with("Global") && in->size() > 2) {
    Sides out(in->size(), 1);
    std::copy_n(in->begin(), 2, out.begin());
    return {out};
  }
  if (op == "Gemm") {
    const Sides* const other = find(node.input(1));
    if (other == nullptr || in->size() != 2 || other->size() != 2) return {};
    const bool a = node.integer("transA", 0) != 0, b = node.integer("transB", 0) != 0;
    if ((*in)[a ? 0 : 1] != (*other)[b ? 1 : 0]) return {};
    return {Sides{(*in)[a ? 1 : 0], (*other)[b ? 0 : 1]}};
  }
  if (op == "MatMul") {
    const Sides* const other = find(node.input(1));
    return other == nullptr ? Outputs{} : Outputs{product(*in, *other)};
  }
  if (op == "Flatten") {
    const std::int64_t given = node.integer("axis", 1);
    const auto size = static_cast<std::int64_t>(in->size());
    const std::int64_t axis = given < 0 ? given + size : given;
    if (axis < 0 || axis > size) return {};
    const double before = numbers_of({in->begin(), in->begin() + axis}), behind = numbers_of({in->begin() + axis, in->end()});
    if (before > 1e15 || behind > 1e15) return {};
    return {Sides{static_cast<std::int64_t>(before), static_cast<std::int64_t>(behind)}};
  }
  if (op == "Transpose") {
    const std::vector<std::int64_t>* const order = node.integers("perm");
    Sides out(in->rbegin(), in->rend());
    if (order == nullptr) return {out};
    if (order->size() != in->size()) return {};
    for (std::size_t i = 0; i < order->size(); ++i) {
      const std::optional<std::size_t> axis = axis_of((*order)[i], in->size());
      if (!axis) return {};
      out[i] = (*in)[*axis];
    }
    return {out};
  }
  if (op == "Concat") {
    const std::optional<std::size_t> axis = axis_of(node.integer("axis", 1), in->size());
    if (!axis) return {};
    Sides out = *in;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const Sides* const other = find(node.inputs[i]);
      if (other == nullptr || other->size() != in->size() || out[*axis] > longest_side) return {};
      out[*axis] += (*other)[*axis];
    }
    return {out};
  }
  if (op == "Unsqueeze" || op == "Squeeze") {
    const std::vector<std::int64_t>* const axes = list(node, "axes", 1);
    if (op == "Squeeze" && axes == nullptr) {
      Sides out = *in;
      std::erase(out, 1);
      return {out};
    }
    if (axes == nullptr || in->size() + axes->size() > most_sides) return {};
    const std::size_t sides = op == "Squeeze" ? in->size() : in->size() + axes->size();
    std::vector<bool> chosen(sides, false);
    for (const std::int64_t each : *axes) {
      const std::optional<std::size_t> axis = axis_of(each, sides);
      if (!axis) return {};
      chosen[*axis] = true;
    }
    Sides out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < sides; ++i) {
      if (op == "Squeeze" && !chosen[i]) out.push_back((*in)[i]);
      if (op == "Unsqueeze") out.push_back(chosen[i] || next == in->size() ? 1 : (*in)[next++]);
    }
    return {out};
  }
  if (op == "Gather") {
    const std::optional<std::size_t> axis = axis_of(node.integer("axis", 0), in->size());
    const Sides* const places = find(node.input(1));
    if (!axis || places == nullptr || in->size() + places->size() > most_sides + 1) return {};
    Sides out(in->begin(), in->begin() + static_cast<std::ptrdiff_t>(*axis));
    out.insert(out.end(), places->begin(), places->end());
    out.insert(out.end(), in->begin() + static_cast<std::ptrdiff_t>(*axis) + 1, in->end());
    return {out};
  }
  if (op == "Split") {
    const std::optional<std::size_t> axis = axis_of(node.integer("axis", 0), in->size());
    const std::vector<std::int64_t>* const parts = list(node, "split", 1);
    if (!axis || node.outputs.empty() || (parts != nullptr && parts->size() != node.outputs.size())) return {};
    Outputs out;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      Sides sides = *in;
      sides[*axis] = parts != nullptr ? (*parts)[i] : (*in)[*axis] / static_cast<std::int64_t>(node.outputs.size());
      if (sides[*axis] < 0 || sides[*axis] > (*in)[*axis]) return {};
      out.emplace_back(std::move(sides));
    }
    return out;
  }
  if (op == "Pad") {
    const std::vector<std::int64_t>* const pads = list(node, "pads", 1);
    if (pads == nullptr || pads->size() != 2 * in->size()) return {};
    Sides out = *in;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::int64_t before = (*pads)[i], behind = (*pads)[i + out.size()];
      if (before < 0 || behind < 0 || before > longest_side || behind > longest_side) return {};
      out[i] += before + behind;
    }
    return {out};
  }
  if (op == "LSTM" || op == "GRU" || op == "RNN") {
    const Sides* const again = find(node.input(2));
    if (again == nullptr || again->size() != 3 || in->size() != 3) return {};
    const std::int64_t ways = (*again)[0], width = (*again)[2];
    return {Sides{(*in)[0], ways, (*in)[1], width}, Sides{ways, (*in)[1], width}, Sides{ways, (*in)[1], width}};
  }
  return {};
}

void Shapes::infer(const Node& node) {
  Outputs outputs = outputs_of(node);
  follow_integers(node);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string_view name = node.outputs[i];
    if (name.empty() || known_.contains(name)) continue;  // a value is made once
    const auto declared = declared_.find(name);
    if (i < outputs.size() && outputs[i] && outputs[i]->size() <= most_sides)
      known_[name] = std::move(*outputs[i]);
    else if (declared != declared_.end())
      known_[name] = declared->second;
  }
  follow_constants(node);
}

}  // namespace straggler::formats::onnx
