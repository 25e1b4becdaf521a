// A trained network in inference form: convolutions and linear layers are products of a weight matrix with patches of their input, batch
// norm is folded into them, a ReLU that is the only reader of a product or a sum is part of it, and dropout and flatten are removed.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "models/zoo/architecture.hpp"

namespace straggler {

/// Value 0 is the network's input; value i + 1 is the output of step i.
using ValueIndex = std::size_t;

struct InferenceStep {
  enum class Kind { product, relu, max_pool, average_pool, add } kind = Kind::product;
  std::string name;     // of the layer, for tables
  std::string tensors;  // prefix of its tensors' names before ".weight"; products only
  std::vector<ValueIndex> inputs;
  Shape in, out;                    // in: of the first input
  Window window;                    // of products and pools; 1 x 1 for linear layers
  std::size_t groups = 1;           // of a product: each output channel sees the input channels of its group
  bool rectified = false;           // products, sums and averages: a ReLU follows
  bool linear = false;              // a product that was a linear layer: its weight has two dimensions, a convolution has four
  std::vector<float> weight, bias;  // product: [out.channels][patch], [out.channels]

  /// Inputs of one output of a product.
  std::size_t patch() const { return in.channels / groups * window.places(); }
};

struct InferenceNetwork {
  Shape input;
  std::vector<InferenceStep> steps;  // in forward order
  ValueIndex output = 0;
  bool had_batch_norm = false;

  std::size_t values() const { return steps.size() + 1; }
  const Shape& shape(ValueIndex value) const { return value == 0 ? input : steps[value - 1].out; }
  /// How many steps read a value; the output counts as read once more.
  std::vector<std::size_t> readers() const;
  /// The step whose output is the network's, if it is a product that nothing else reads: its sums are the scores.
  const InferenceStep* scores() const;
};

/// `weights` as NetworkLayout has them, running statistics included. A batch norm becomes y = a x + b with a = weight / √(variance +
/// epsilon), b = bias - a mean: folded into the product that it alone reads, else a product of its own with one channel a group.
/// Throws std::invalid_argument on a layer that has no counterpart here.
InferenceNetwork inference_network(const Architecture& architecture, const float* weights);

}  // namespace straggler
