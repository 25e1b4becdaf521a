// ONNX: parameters, FLOPs and bytes of activations from the node list and the shapes that follow from it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "models/formats/model_file.hpp"
#include "models/formats/onnx_graph.hpp"
#include "models/formats/onnx_shapes.hpp"
#include "models/formats/protobuf.hpp"
#include "models/formats/reading.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/shown_text.hpp"

namespace straggler::formats::onnx {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest = std::uintmax_t{2} << 30;  // protobuf's own limit

/// Constants of these are settings, not weights.
const Words without_weights = words_of(
    "Clip ConstantOfShape Dropout Expand OneHot Pad Pow QuantizeLinear Range Reshape Resize Slice Tile TopK Upsample Where "
    "Equal Greater Less");
/// Layers whose weights are their second input.
const Words layers_of_weights = words_of("Conv ConvTranspose BatchNormalization LSTM GRU RNN");
/// A table that one of these reads may be a weight, as learned positions, or a constant, as sines.
const Words reads_tables = words_of("Add Sub Mul Div Concat");
/// A weight of one number is a weight here, and a setting elsewhere.
const Words with_small_weights = words_of("Conv ConvTranspose Gemm MatMul BatchNormalization LayerNormalization");
/// Views and copies of their inputs; issued by no framework as an operation of its own.
const Words views = words_of("Reshape Flatten Squeeze Unsqueeze Identity Dropout Cast Constant ConstantOfShape Shape");
/// Backward reads what goes in.
const Words reads_inputs = words_of(
    "Conv ConvTranspose Gemm MatMul BatchNormalization LayerNormalization InstanceNormalization GroupNormalization LRN "
    "MaxPool Gelu Erf Mul Div Pow PRelu HardSwish Mish Elu LeakyRelu Log LSTM GRU RNN Einsum");
/// Backward reads what comes out.
const Words reads_outputs = words_of("Relu Sigmoid Tanh Softmax LogSoftmax Exp Sqrt Clip HardSigmoid");
/// May compute, in ways that are not counted.
const Words unknown_costs =
    words_of("MatMulInteger ConvInteger QLinearConv QLinearMatMul DFT Attention If Loop Scan SequenceMap DeformConv");

struct Costs {
  double multiply_adds = 0;
  bool known = true;
};

/// Of a whole batch.
Costs costs_of(const Node& node, const Shapes& shapes) {
  const std::string_view op = node.op;
  if (unknown_costs.contains(op) || (!node.domain.empty() && node.domain != "ai.onnx")) return {0, false};
  const bool recurrent = op == "LSTM" || op == "GRU" || op == "RNN";
  if (op != "Conv" && op != "ConvTranspose" && op != "Gemm" && op != "MatMul" && op != "Einsum" && !recurrent) return {};
  const Sides* const in = shapes.find(node.input(0));
  const Sides* const weight = shapes.find(node.input(1));
  const Sides* const out = node.outputs.empty() ? nullptr : shapes.find(node.outputs[0]);
  if (op == "Einsum") {
    const std::optional<Einsum> its = in != nullptr && node.inputs.size() <= 2 ? einsum_of(node, *in, weight) : std::nullopt;
    return its ? Costs{its->products, true} : Costs{0, false};
  }
  // The file may declare an output that does not fit its inputs.
  if (in == nullptr || weight == nullptr || out == nullptr || in->empty() || weight->empty()) return {0, false};
  if (recurrent) {
    const Sides* const again = shapes.find(node.input(2));
    if (again == nullptr || in->size() != 3) return {0, false};
    return {numbers_of({in->begin(), in->begin() + 2}) * (numbers_of(*weight) + numbers_of(*again)), true};
  }
  if (op == "Gemm") return {numbers_of(*out) * static_cast<double>(node.integer("transA", 0) != 0 ? in->front() : in->back()), true};
  if (op == "MatMul") return {numbers_of(*out) * static_cast<double>(in->back()), true};
  const double window = numbers_of({weight->begin() + 1, weight->end()});
  return {numbers_of(op == "Conv" ? *out : *in) * window, true};
}

class Reader {
 public:
  Reader(const fs::path& path, const Graph& graph, const ModelFileOptions& options)
      : path_(path), graph_(graph), options_(options), turned_(turned_copies(graph)), shapes_(graph, options.sequence.value_or(1)) {
    for (const Tensor& tensor : graph.initializers)
      if (tensor.is_float()) floats_.insert(tensor.name);
  }

  ModelFile read() && {
    // Shapes first: whether an output is kept depends on who reads it later.
    for (const Node& node : graph_.nodes) {
      if (node.op == "ConstantOfShape" && makes_floats(node)) floats_.insert(node.outputs[0]);
      if (const Attribute* const value = node.find("value"); node.op == "Constant" && !node.outputs.empty() && value != nullptr)
        if (value->tensor && value->tensor->is_float()) settings_.insert(node.outputs[0]);
      shapes_.infer(node);
    }
    const Words kept = kept_values();
    double before = 0;  // kept numbers that come before the first row
    std::size_t operations_before = 0;
    for (const Node& node : graph_.nodes) {
      const bool constant = std::ranges::all_of(node.outputs, [&](std::string_view out) { return shapes_.is_constant(out); });
      if (constant) continue;
      note(node);
      std::vector<LayerRows::Tensor> tensors = weights_of(node);
      const Costs costs = costs_of(node, shapes_);
      if (!costs.known) ++uncounted_[std::string(node.op)];
      double numbers = 0;
      for (const std::string_view out : node.outputs)
        if (const Sides* const sides = kept.contains(out) ? shapes_.find(out) : nullptr; sides != nullptr) numbers += numbers_of(*sides);
      numbers /= static_cast<double>(shapes_.batch());
      const std::size_t operations = views.contains(node.op) ? 0 : 1;
      if (costs.multiply_adds > 0 || !tensors.empty()) {
        flush();
        name_ = name_of(node, tensors);
        tensors_ = std::move(tensors);
        multiply_adds_ = costs.multiply_adds / static_cast<double>(shapes_.batch());
        numbers_ = numbers + before;
        operations_ = operations + operations_before;
        before = 0;
        operations_before = 0;
      } else if (name_.empty()) {
        before += numbers;
        operations_before += operations;
      } else {
        numbers_ += numbers;
        operations_ += operations;
      }
    }
    flush();
    return finish();
  }

 private:
  bool makes_floats(const Node& node) const {
    const Attribute* const value = node.find("value");  // without one: FLOAT 0
    return !node.outputs.empty() && shapes_.is_constant(node.input(0)) && (value == nullptr || !value->tensor || value->tensor->is_float());
  }

  /// Outputs that backward reads. A view passes the need on to its input.
  Words kept_values() const {
    Words kept;
    for (const Value& output : graph_.outputs) kept.insert(output.name);
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const Node& node = graph_.nodes[i];
      if (node.outputs.empty()) continue;
      if (reads_outputs.contains(node.op)) kept.insert(node.outputs[0]);
      const bool passes_on = views.contains(node.op) && kept.erase(node.outputs[0]) > 0;
      if (passes_on) kept.insert(node.input(0));
      if (reads_inputs.contains(node.op))
        for (const std::string_view input : node.inputs) kept.insert(input);
    }
    return kept;
  }

  /// Tensors that learn, each where it is used first.
  std::vector<LayerRows::Tensor> weights_of(const Node& node) {
    std::vector<LayerRows::Tensor> tensors;
    if (without_weights.contains(node.op)) return tensors;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      for (const std::string_view origin : shapes_.origins(node.inputs[i])) {
        if (!learns(origin, node)) continue;
        const Sides* const sides = shapes_.find(origin);
        const double count = sides != nullptr ? numbers_of(*sides) : 0;
        if (count == 0 || (count == 1 && !with_small_weights.contains(node.op)) || turned_.contains(origin)) continue;
        if (!used_.insert(origin).second) continue;
        if (node.op == "BatchNormalization" && i >= 3) {
          statistics_ += static_cast<std::size_t>(count);
          continue;
        }
        tensors.push_back({shown(origin), {sides->begin(), sides->end()}});
      }
    return tensors;
  }

  bool learns(std::string_view origin, const Node& node) const {
    return floats_.contains(origin) || (settings_.contains(origin) && with_small_weights.contains(node.op));
  }

  /// What an exporter may have changed, for the sentences of the end.
  void note(const Node& node) {
    if (without_weights.contains(node.op)) return;
    bool folded = false;
    std::set<std::string_view> of_node;
    for (const std::string_view input : node.inputs)
      for (const std::string_view origin : shapes_.origins(input)) {
        const Sides* const sides = shapes_.find(origin);
        if (!floats_.contains(origin) || sides == nullptr || numbers_of(*sides) < 2) continue;
        of_node.insert(origin);
        folded = folded || (node.op == "Conv" && origin.starts_with("onnx::Conv_"));
        const bool table = std::ranges::count_if(*sides, [](std::int64_t side) { return side > 1; }) > 1;
        if (table && reads_tables.contains(node.op) && !used_.contains(origin)) tables_.push_back(shown(origin));
      }
    if (node.op != "Gather")  // of an embedding, to which an output may be tied
      for (const std::string_view origin : of_node)
        if (std::size_t& readers = ++readers_[origin]; readers == 2) shared_.push_back(origin);
    if (folded) ++folded_;
    if (layers_of_weights.contains(node.op) && node.inputs.size() > 1 && shapes_.origins(node.inputs[1]).empty())
      ++weightless_[std::string(node.op)];
  }

  /// Matrices of the exporter's that are another one's transpose, as those of an output that is tied to an embedding.
  static Words turned_copies(const Graph& graph) {
    const auto is_own = [](const Tensor& tensor) { return tensor.name.find("::") != std::string_view::npos; };
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const Tensor*>> named;  // by sides
    for (const Tensor& tensor : graph.initializers)
      if (tensor.is_float() && tensor.sides.size() == 2 && !tensor.raw.empty() && !is_own(tensor))
        named[{tensor.sides[0], tensor.sides[1]}].push_back(&tensor);
    Words turned;
    std::size_t left = 1'000'000'000;  // numbers to compare
    for (const Tensor& tensor : graph.initializers) {
      if (!tensor.is_float() || tensor.sides.size() != 2 || tensor.raw.empty() || !is_own(tensor)) continue;
      const auto same = named.find({tensor.sides[1], tensor.sides[0]});
      if (same == named.end()) continue;
      for (const Tensor* const other : same->second)
        if (other->type == tensor.type && is_turned(tensor, *other, left)) {
          turned.insert(tensor.name);
          break;
        }
    }
    return turned;
  }

  static bool is_turned(const Tensor& tensor, const Tensor& other, std::size_t& left) {
    const auto rows = static_cast<std::size_t>(tensor.sides[0]), columns = static_cast<std::size_t>(tensor.sides[1]);
    const std::size_t width = tensor.raw.size() / std::max<std::size_t>(rows * columns, 1);
    if (width == 0 || tensor.raw.size() != rows * columns * width || other.raw.size() != tensor.raw.size()) return false;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < columns; ++column)
        if ((left == 0 ? 0 : left--) == 0 ||
            tensor.raw.substr((row * columns + column) * width, width) != other.raw.substr((column * rows + row) * width, width))
          return false;
    return true;
  }

  static std::string shown(std::string_view name) { return shown_text(shortened(name, 200)); }

  /// The module's name where tensors have it, as PyTorch writes them.
  std::string name_of(const Node& node, const std::vector<LayerRows::Tensor>& tensors) {
    std::string name = shown(!node.name.empty() ? node.name : node.outputs.empty() ? node.op : node.outputs[0]);
    for (const char* end : {".weight", ".bias"})
      if (!tensors.empty() && tensors.front().name.ends_with(end))
        name = tensors.front().name.substr(0, tensors.front().name.size() - std::string_view(end).size());
    if (name.empty()) name = "unnamed";
    const std::string first = name;
    for (std::size_t copy = 2; !names_.insert(name).second; ++copy) name = fmt::format("{} #{}", first, copy + copies_++);
    return name;
  }

  void flush() {
    if (!name_.empty()) rows_.add(std::move(name_), std::move(tensors_), multiply_adds_, numbers_, operations_);
    name_.clear();
  }

  ModelFile finish() {
    ModelFile file;
    file.what = fmt::format("{} nodes", readable_count(graph_.nodes.size()));
    file.table = std::move(rows_).table(path_);
    file.table.statistics = statistics_;
    file.table.input_bytes = sizeof(float) * numbers_of(shapes_.first_input()) / static_cast<double>(shapes_.batch());
    file.other_numbers = statistics_;
    file.assumed.push_back(fmt::format("its batch is {}, the first side of its first input", shapes_.batch()));
    if (shapes_.has_symbols())
      file.assumed.push_back(options_.sequence ? fmt::format("sides without a size are {}", readable_count(*options_.sequence))
                                               : "sides without a size are 1; `sequence` sets another number");
    std::vector<std::string> ops;
    for (const auto& [op, count] : uncounted_) ops.push_back(fmt::format("{} {}", count, shown(op)));
    say_exported(file);
    if (!ops.empty()) file.missing.push_back(fmt::format("the FLOPs of nodes whose kind or shapes are not followed: {}", some_of(ops)));
    return file;
  }

  /// Where the exporter may have changed the number of parameters.
  void say_exported(ModelFile& file) const {
    constexpr const char* remedy = "export with training=torch.onnx.TrainingMode.TRAINING";
    const auto names = [](const std::vector<std::string_view>& all) {
      std::vector<std::string> names;
      for (const std::string_view each : all) names.push_back(shown(each));
      return some_of(names, 2);
    };
    if (!shared_.empty())
      file.assumed.push_back(
          fmt::format("{}, which several nodes read, {}; an exporter in eval mode joins equal tensors, so if the network shares none, {}",
                      names(shared_), shared_.size() == 1 ? "is one tensor" : "are one tensor each", remedy));
    if (!turned_.empty()) {
      std::vector<std::string_view> all(turned_.begin(), turned_.end());
      std::ranges::sort(all);
      file.assumed.push_back(fmt::format("{} {} of another tensor, and the same weight", names(all),
                                         turned_.size() == 1 ? "is the transpose" : "are transposes"));
    }
    if (!tables_.empty())
      file.assumed.push_back(fmt::format("{} learn{}; a file does not tell constants that are added, as sines of positions, from weights",
                                         some_of(tables_, 2), tables_.size() == 1 ? "s" : ""));
    if (folded_ > 0)
      file.missing.push_back(fmt::format("the parameters of batch norms: the exporter folded them into {} convolution{}; {}", folded_,
                                         folded_ == 1 ? "" : "s", remedy));
    std::vector<std::string> ops;
    for (const auto& [op, count] : weightless_) ops.push_back(fmt::format("{} {}", count, shown(op)));
    if (!ops.empty())
      file.missing.push_back(fmt::format("the parameters of {}, whose weights the file does not hold as constants", some_of(ops)));
  }

  const fs::path& path_;
  const Graph& graph_;
  const ModelFileOptions& options_;
  const Words turned_;
  Shapes shapes_;
  Words floats_, settings_;  // settings: constants of the program, which are weights in layers alone
  Words used_;
  LayerRows rows_;
  std::set<std::string> names_;
  std::size_t copies_ = 0;
  std::map<std::string, std::size_t> uncounted_;
  std::size_t statistics_ = 0;
  std::unordered_map<std::string_view, std::size_t> readers_;  // nodes that read a weight
  std::vector<std::string_view> shared_;                       // weights of several
  std::vector<std::string> tables_;
  std::size_t folded_ = 0;  // convolutions
  std::map<std::string, std::size_t> weightless_;
  // The row that is being filled.
  std::string name_;
  std::vector<LayerRows::Tensor> tensors_;
  double multiply_adds_ = 0, numbers_ = 0;
  std::size_t operations_ = 0;
};

ModelFile read(const GivenFile& file, const ModelFileOptions& options) {
  const fs::path path = file.shown();
  const std::string bytes = model_text(file, largest);
  try {
    const Graph graph = parse_model(bytes);
    return Reader(path, graph, options).read();
  } catch (const WireError& error) {
    refuse_model(path, fmt::format("is no whole ONNX model ({}); export it again", error.what()));
  }
}

bool recognizes(const FileStart& start) { return may_be_model(start.bytes); }

const Register<ModelFormat> entry(
    {.name = "onnx",
     .summary = "an ONNX model",
     .example = "torch.onnx.export(model, example, \"model.onnx\", training=torch.onnx.TrainingMode.TRAINING)",
     .parameters = {model_file_options().front()},
     .recognizes = recognizes,
     .read = read});

}  // namespace
}  // namespace straggler::formats::onnx
