// A kind of layer is a row that registers itself from its file, layer_NAME.cpp: its parameters, the shape that it makes, its tensors, its
// cost, and its plain arithmetic. Networks (models/zoo) consist of layers; an engine says by a row's name or functions whether it computes
// it.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/window.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

/// The activation of one sample: `channels` features at each of height x width places. A sequence of n tokens has height n, width 1.
struct Shape {
  std::size_t channels = 0, height = 1, width = 1;
  std::size_t places() const { return height * width; }
  std::size_t size() const { return channels * height * width; }
  bool operator==(const Shape&) const = default;
};
/// "3 x 32 x 32".
std::string shape_text(const Shape& shape);

/// Index of a layer in its network; `network_input`: the network's input.
using LayerIndex = std::size_t;
constexpr LayerIndex network_input = static_cast<LayerIndex>(-1);

/// How a tensor's numbers are drawn before training.
struct InitialValues {
  enum class Rule { constant, normal, uniform };
  Rule rule = Rule::constant;
  double size = 0;  // the constant; the standard deviation around 0; the bound of [-size, size)
};

struct TensorSpec {
  std::string name;  // as in the state_dict of the PyTorch model that the network follows; of a row: after the layer's name and a dot
  std::vector<std::size_t> shape;
  InitialValues initial = {};
  std::vector<std::size_t> matrices = {};  // TensorInfo::matrices, wherever in a network the layer is
};

struct LayerEntry;

/// A layer of a network.
struct LayerSpec {
  const LayerEntry* entry = nullptr;
  std::string name;
  Parameters parameters;           // complete
  std::vector<LayerIndex> inputs;  // each precedes this layer
  Shape in, out;                   // in: of the first input
  Window window;                   // of a layer that slides over its input's places; else one place
  /// The layer whose first tensor is its first tensor, too: `tensors` has the others.
  std::optional<LayerIndex> tied = {};
  std::vector<TensorSpec> tensors;
  std::vector<TensorSpec> buffers;  // running statistics: state, not parameters
  std::string block = {};           // that it is part of: a repetition, a residual, an encoder's layer; empty: none

  bool is(std::string_view kind) const;
  std::size_t count(std::string_view parameter) const { return static_cast<std::size_t>(parameters.count(parameter)); }
  /// The window over one channel of the input.
  SlidingWindow sliding() const { return {window, in.height, in.width, out.height, out.width}; }
};

template <class Scalar>
struct LayerPass;  // layer_pass.hpp

/// A function of a pass in float and the same in double, from a generic lambda. False: there is none.
class LayerFunction {
 public:
  LayerFunction() = default;
  template <class Generic>
  LayerFunction(Generic generic) : in_float_(generic), in_double_(generic) {}  // NOLINT: a lambda is one
  explicit operator bool() const { return in_float_ != nullptr; }
  void operator()(const LayerPass<float>& pass) const { in_float_(pass); }
  void operator()(const LayerPass<double>& pass) const { in_double_(pass); }

 private:
  void (*in_float_)(const LayerPass<float>&) = nullptr;
  void (*in_double_)(const LayerPass<double>&) = nullptr;
};

/// Functions of a layer are called once its parameters are complete and `in` is known; those after `shape` once all of it but the names is.
struct LayerEntry {
  struct Inputs {
    std::size_t least = 1, most = 1;
  };
  std::string name, summary;
  DeclaredParameters parameters = {};
  Inputs inputs = {};
  bool tokens = false;  // its input is token numbers, which have no derivative
  bool view = false;    // its output is its input's memory under another shape
  bool scores = false;  // the last such layer of a network is its output layer
  Window (*window)(const LayerSpec&) = nullptr;
  /// Throws std::invalid_argument that names the shapes where the inputs do not fit. Null: that of the input.
  Shape (*shape)(const LayerSpec&, std::span<const Shape> inputs) = nullptr;
  std::vector<TensorSpec> (*tensors)(const LayerSpec&) = nullptr;
  std::vector<TensorSpec> (*buffers)(const LayerSpec&) = nullptr;

  // Cost. A layer with tensors or multiply-adds has a row in a cost table.
  double (*multiply_adds)(const LayerSpec&) = nullptr;  // forward, of one sample, without those of biases; null: none
  bool backward_reads_inputs = false, backward_reads_output = false;
  std::size_t (*inner_activations)(const LayerSpec&) = nullptr;  // numbers of a sample that backward reads besides; null: none
  double (*pair_multiply_adds)(const LayerSpec&) = nullptr;      // of attention: those of them for all pairs of places
  std::size_t (*pair_activations)(const LayerSpec&) = nullptr;   // and of inner_activations
  bool makes_pairs = false;    // its output is a number for each pair of places, and so is what layers of one input make of it
  std::size_t operations = 1;  // that a framework issues

  // Plain arithmetic in any scalar: the reference of all engines. No functions: the layer can be timed, not trained.
  bool (*draws)(const LayerSpec&) = nullptr;                // whether training needs random draws; null: no
  std::size_t (*kept_indices)(const LayerSpec&) = nullptr;  // of a sample, from forward to backward; null: none
  std::size_t (*scratch)(const LayerSpec&) = nullptr;       // numbers of a call; null: none
  LayerFunction forward = {};
  LayerFunction backward = {};  // called where there are tensors, or an input whose derivative is of use
};

/// The layer but its name and inputs, with `prefix` and a dot before its tensors' names. Throws std::invalid_argument, without the layer's
/// name, if a parameter or an input does not fit.
LayerSpec make_layer(const LayerEntry& entry, Parameters given, std::span<const Shape> inputs, const std::string& prefix);

/// `weight` of that shape, one matrix, and `bias` [its first width] if there is one: uniform in ±1/√(inputs of an output), PyTorch's
/// default.
std::vector<TensorSpec> weight_and_bias(std::vector<std::size_t> weight, bool bias);
/// `weight` and `bias` of a norm: ones and zeros.
std::vector<TensorSpec> gain_and_bias(std::size_t channels);

}  // namespace straggler
