// The costs of a model per layer, whether or not it can be trained here.
#pragma once
#include <string>
#include <vector>

#include "models/zoo/model.hpp"

namespace straggler {

/// The products of all pairs of a sample's places in attention, with softmax and dropout between them.
struct PairCost {
  double forward_flops = 0, activation_bytes = 0, mask_bytes = 0;
};

/// A layer of the forward pass and its parameter tensors. Counts are of one sample; a multiply-add is 2 FLOPs.
struct CostLayer {
  std::string name;
  double forward_flops = 0;
  double activation_bytes = 0;      // fp32, output kept for backward
  std::vector<TensorInfo> tensors;  // in the framework's order of registration (weight, then bias); offsets over the model
  std::size_t operations = 1;  // that a framework issues one by one: the layer, and what follows it without tensors (activation, pool, sum)
  double mask_bytes = 0;       // that backward reads besides, in any precision: 1 for each number of dropout, 8 for the place of a maximum
  PairCost pairs = {};         // a part of the above
  std::string block = {};      // LayerSpec::block
  double block_input = 0;      // of a block's first layer: fp32 bytes of what the block reads, unless a layer outside of blocks keeps them
  std::size_t parameters() const;
  bool convolution = false;  // where its tensors have no shapes
  /// A product of matrices: it has no tensor of more than two dimensions, as a convolution's weights have.
  bool dense() const;
};

/// In forward order.
struct CostTable {
  std::vector<CostLayer> layers;
  double input_bytes = 0;          // of one sample, fp32
  std::size_t statistics = 0;      // floats of running statistics (Model::statistics)
  bool knows_activations = true;   // false: activation_bytes are 0 because nobody knows them
  std::vector<std::string> notes;  // sentences for the user: what was assumed, what is not known
  std::size_t parameters() const;
  /// Of all layers, in forward order.
  std::vector<TensorInfo> tensors() const;
  double forward_flops() const;     // of one sample
  double activation_bytes() const;  // of one sample
  std::size_t operations() const;
};

/// Numbers in a tensor.
std::size_t elements(const std::vector<std::size_t>& shape);

/// The table of a model that learns.
CostTable cost_table(const Model& model);

/// The table of an entry with costs of its own. `given`: of its `cost_parameters`. Throws std::invalid_argument.
CostTable cost_table(const ModelEntry& entry, Parameters given = {});

/// The table of a definition: a row for each layer with tensors or multiply-adds. FLOPs are those of convolutions, linear layers and
/// attention's products; element-wise layers (norms, activations, pools) have none, but count in the bytes. `activation_bytes` are the fp32
/// outputs that the backward pass reads again: the inputs of convolutions, linear layers, norms, GELUs, max pools and attention's products,
/// the outputs of ReLU, tanh and softmax, and the network's own output; each once. Outputs kept by a layer without a row count in the row
/// before it. The network's input is not counted; dropout's masks and max pool's indices are in `mask_bytes`.
CostTable cost_table(const Architecture& architecture);

/// The device cost of one training step. FLOPs: forward, and twice as many backward (by the inputs and by the weights). Bytes of device
/// memory moved: weights are read forward, read backward, and their gradient is written; an activation is written forward, and backward it
/// is read and its gradient written.
struct TrainingCost {
  double flops_per_sample = 0;        // 3 x forward
  double fixed_bytes = 0;             // 3 x 4 bytes x parameters, independent of the batch
  double bytes_per_sample = 0;        // 3 x activation_bytes
  double dense_flops_per_sample = 0;  // of flops_per_sample: CostLayer::dense
};
TrainingCost training_cost(const CostTable& table);

}  // namespace straggler
