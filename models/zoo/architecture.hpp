// The structure of a network: its layers, their inputs, and the names and shapes of their tensors. cost_model.hpp derives the costs; the
// engines compute it.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "models/kernels/window.hpp"

namespace straggler {

/// The activation of one sample: `channels` features at each of height x width places. A sequence of n tokens has height n, width 1.
struct Shape {
  std::size_t channels = 0, height = 1, width = 1;
  std::size_t size() const { return channels * height * width; }
  bool operator==(const Shape&) const = default;
};

/// Kinds with tensors come first.
enum class LayerKind {
  conv,        // weight [out, in / groups, height, width], bias [out] if it has one
  batch_norm,  // weight, bias [channels]; running statistics are state, not parameters
  linear,      // over the channels of each place; weight [out, in], bias [out]
  embedding,   // looks up the rows of the tokens 0, 1, … in the one channel; weight [rows, channels]
  layer_norm,  // over the channels of each place; weight, bias [channels]
  relu,
  gelu,
  tanh,
  softmax,  // over `width`
  dropout,
  max_pool,
  average_pool,       // padding counts as zeros, as in PyTorch
  add,                // of all inputs
  concat,             // of all inputs, along the channels
  flatten,            // all places into the channels
  first_place,        // the features of the first place alone (BERT's [CLS])
  attention_scores,   // of (queries, keys): for each head, the products of all pairs of places
  attention_context,  // of (scores, values): for each head and place, the values weighted by their scores
};

/// Index of a layer in its architecture; `network_input`: the network's input.
using LayerIndex = std::size_t;
constexpr LayerIndex network_input = static_cast<LayerIndex>(-1);

struct TensorSpec {
  std::string name;  // as in the state_dict of the PyTorch model that the architecture follows
  std::vector<std::size_t> shape;
};

struct LayerSpec {
  LayerKind kind = LayerKind::conv;
  std::string name;
  std::vector<LayerIndex> inputs;  // each precedes this layer
  Shape in, out;                   // in: of the first input
  Window window;                   // conv and pools
  std::size_t heads = 1;           // attention
  std::vector<TensorSpec> tensors;
  std::size_t groups = 1;     // conv: the channels form this many groups, each computed from its own
  double dropout_rate = 0.5;  // dropout: the fraction set to zero

  /// The window over one channel of the input; conv and pools.
  SlidingWindow sliding() const { return {window, in.height, in.width, out.height, out.width}; }
};

/// In forward order, in which the framework registers the tensors.
struct Architecture {
  Shape input;
  std::vector<LayerSpec> layers;
};

/// A layer's name in tables, and the prefix of its tensors' names before ".weight"; usually equal.
struct LayerName {
  std::string layer, tensors;
  LayerName(const char* both) : layer(both), tensors(both) {}
  LayerName(std::string both) : layer(both), tensors(std::move(both)) {}
  LayerName(std::string table, std::string framework) : layer(std::move(table)), tensors(std::move(framework)) {}
};

/// Appends layers. Each call returns the layer's index and throws std::invalid_argument on unsuitable inputs.
class ArchitectureBuilder {
 public:
  explicit ArchitectureBuilder(Shape input) : made_{input, {}} {}

  LayerIndex conv(LayerIndex from, const LayerName& name, std::size_t channels, const Window& window, bool bias = false,
                  std::size_t groups = 1);
  LayerIndex batch_norm(LayerIndex from, const LayerName& name);
  LayerIndex linear(LayerIndex from, const LayerName& name, std::size_t channels);
  LayerIndex embedding(LayerIndex from, const LayerName& name, std::size_t rows, std::size_t channels);
  LayerIndex layer_norm(LayerIndex from, const LayerName& name);

  LayerIndex relu(LayerIndex from) { return same_shape(LayerKind::relu, from, "relu"); }
  LayerIndex gelu(LayerIndex from) { return same_shape(LayerKind::gelu, from, "gelu"); }
  LayerIndex tanh(LayerIndex from) { return same_shape(LayerKind::tanh, from, "tanh"); }
  LayerIndex softmax(LayerIndex from) { return same_shape(LayerKind::softmax, from, "softmax"); }
  LayerIndex dropout(LayerIndex from, double rate = 0.5);
  LayerIndex max_pool(LayerIndex from, const Window& window);
  LayerIndex average_pool(LayerIndex from, const Window& window);
  LayerIndex global_average_pool(LayerIndex from);
  LayerIndex add(const std::vector<LayerIndex>& from);
  LayerIndex concat(const std::vector<LayerIndex>& from);
  LayerIndex flatten(LayerIndex from);
  LayerIndex first_place(LayerIndex from);
  LayerIndex attention_scores(LayerIndex queries, LayerIndex keys, const std::string& name, std::size_t heads);
  LayerIndex attention_context(LayerIndex scores, LayerIndex values, const std::string& name);

  const Shape& shape(LayerIndex layer) const;
  Architecture build() && { return std::move(made_); }

 private:
  LayerIndex append(LayerSpec layer);
  LayerIndex same_shape(LayerKind kind, LayerIndex from, const char* what);
  LayerIndex pool(LayerKind kind, LayerIndex from, const Window& window, const char* what);
  std::string name_after(LayerIndex from, const char* what) const;

  Architecture made_;
};

}  // namespace straggler
