// A model: parameters in one flat vector, a loss, its gradient, and its cost per sample.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/data/dataset.hpp"
#include "models/kernels/kernels.hpp"
#include "models/kernels/precision.hpp"
#include "models/rules/tensor_info.hpp"
#include "models/zoo/sparse_rows.hpp"
#include "sim/base/parameters.hpp"

namespace straggler {

/// Samples gathered for one evaluation.
struct Rows {
  std::size_t count = 0;
  const float* inputs = nullptr;         // [count, features], row-major; null if they are in panels
  const std::int32_t* labels = nullptr;  // [count][places of the output]
  const float* scale = nullptr;          // [count], the weight of each sample's loss in the sum; null when evaluating
  /// [count]: a random 64-bit key per sample (from seed, stream, position) for the random draws of layers (dropout, negative samples); null
  /// when evaluating, or if the model draws nothing (`Model::draws`).
  const std::uint64_t* draws = nullptr;
  const float* panels = nullptr;  // the inputs in panels (models/kernels/kernels.hpp), for models with `Model::takes_panels`
};

/// Per layer, for cost models. Counts are of one sample; a multiply-add is 2 FLOPs.
struct LayerCost {
  std::string name;
  std::size_t parameters = 0;
  double forward_flops = 0;
  double activation_bytes = 0;  // output kept for backward
  std::size_t operations = 1;  // that a framework issues one by one: the layer, and what follows it without tensors (activation, pool, sum)
};

/// Scratch memory of one thread; reusable for any call of the same model.
class Workspace {
 public:
  virtual ~Workspace() = default;
  /// Set when the result is no longer needed; checked between layers. The result is then invalid.
  const std::atomic<bool>* cancelled = nullptr;
  bool called_off() const { return cancelled && cancelled->load(std::memory_order_relaxed); }
};

struct Architecture;
struct CostTable;
class SharedGradient;
class SteppedGradient;

/// Immutable; safe to call from several threads, each with a workspace of its own.
class Model {
 public:
  virtual ~Model() = default;
  virtual std::size_t parameters() const = 0;
  virtual std::vector<TensorInfo> tensors() const = 0;
  /// Running statistics (batch norm), in floats. They follow the parameters in a vector of weights; `gradient` puts the batch's statistics
  /// there. Layers name them in `buffers`, with offsets from the start of the vector.
  virtual std::size_t statistics() const { return 0; }
  virtual std::vector<TensorInfo> buffers() const { return {}; }
  /// Floats of a vector of weights.
  std::size_t length() const { return parameters() + statistics(); }
  /// Whether `gradient` needs Rows::draws.
  virtual bool draws() const { return false; }
  /// Whether `gradient` and `evaluate` also accept Rows::panels, which saves a copy.
  virtual bool takes_panels() const { return false; }
  virtual std::vector<LayerCost> cost() const = 0;
  /// Bytes of scratch for `rows` samples at a time.
  virtual std::size_t workspace_bytes(std::size_t rows) const = 0;
  virtual void initialize(std::uint64_t seed, float* weights) const = 0;
  virtual std::unique_ptr<Workspace> workspace() const = 0;
  /// gradient[length] = Σ_i scale_i ∂loss_i/∂weights, and Σ_i scale_i times the batch's statistics; added to the old values if
  /// `accumulate`. Returns Σ scale_i loss_i.
  virtual double gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const = 0;
  /// How several threads compute `gradient` together; null if they cannot.
  virtual const SharedGradient* shared() const { return nullptr; }
  /// How a gradient is computed together with the step along it; null if it cannot be.
  virtual const SteppedGradient* stepped() const { return nullptr; }
  /// A model with rows (embeddings) has `sparse_gradient` too: the same as `gradient` with `accumulate`, into the touched rows, bit for
  /// bit, without the loss.
  virtual GradientPattern row_pattern() const { return {}; }
  virtual void sparse_gradient(const float* /*weights*/, const Rows& /*rows*/, GradientRows& /*gradient*/, Workspace&) const {
    throw std::logic_error("a model without a row pattern has no sparse gradients");
  }
  /// Σ loss over the rows, each the mean of its places; adds the number of correct places to `correct`.
  virtual double evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace& workspace) const = 0;
  /// True if some layer couples the samples of a batch (batch norm): such gradients may not be fused.
  virtual bool couples_samples() const { return false; }
  /// The NetworkEngine that computes it; empty: none does.
  virtual std::string_view engine() const { return {}; }
  /// Whether one executor must not call it on several threads.
  virtual bool one_thread() const { return false; }
  /// Sentences for the user about what `cost` assumes; empty: nothing, and activations are counted.
  virtual std::vector<std::string> assumed() const { return {}; }
  /// The layers, with their tensors in the order of `tensors`; null if it is not such a network, or does not expose it.
  virtual const Architecture* architecture() const { return nullptr; }
};

/// Algorithm of convolutions, if an engine has the choice.
enum class ConvolutionRule {
  automatic,  // the fastest
  direct,     // sums of products, by definition
  winograd,   // Lavin & Gray 2016, if available: faster for 3x3 windows, and less exact in the last digits
};

/// The arguments of every model's factory.
struct ModelSetting {
  const Kernels& kernels;
  Precision precision = Precision::fp32;
  ConvolutionRule convolution = ConvolutionRule::automatic;
  std::uint64_t seed = 1;  // of the run: of some models only the initial weights say which shapes they have
};

/// What `workload.model` and `workload.cost.model` name.
struct ModelEntry {
  std::string name, summary, reference = {};
  DeclaredParameters parameters = {};  // of workload.model
  /// Throws std::invalid_argument if the model does not fit the data's shape, or if no engine trains it. Null: it has costs alone.
  std::function<std::unique_ptr<Model>(const Parameters&, const DataInfo&, const ModelSetting&)> make = {};
  /// True: it learns from pairs of words; no other model does.
  bool words = false;
  /// True: it learns from symbols (DataInfo), too; `make` refuses data that do not fit its parameters.
  bool symbols = false;
  /// Of a network: its layers on these data. Throws std::invalid_argument.
  std::function<Architecture(const Parameters&, const DataInfo&)> network = {};
  /// Of a model that its parameters do not describe: this enters every key, with them.
  std::function<Key(const Parameters&, std::uint64_t seed)> content = {};

  // Under workload.cost.model, whatever the data. One of the last two, or its costs follow from the data.
  DeclaredParameters cost_parameters = {};
  std::function<Architecture(const Parameters&)> cost_network = {};
  std::function<CostTable(const Parameters&)> cost_table = {};  // no layers are known, but their sizes
  bool has_own_cost() const { return cost_network || cost_table; }
};

}  // namespace straggler
