// Evaluates a formula, given its inputs' values. Independent of the number of threads: pieces are cut by the formula alone.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/data/dataset.hpp"
#include "models/data/partition.hpp"
#include "models/executor/buffer_pool.hpp"
#include "models/executor/numerics.hpp"
#include "models/executor/step_chain.hpp"
#include "models/rules/elementwise.hpp"
#include "models/zoo/model.hpp"
#include "models/zoo/shared_gradient.hpp"
#include "models/zoo/stepped_gradient.hpp"
#include "sim/lineage/evaluator.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

/// The value of an input, as the executor keeps it.
struct InputValue {
  float* floats = nullptr;
  bool sparse = false;  // SparseRows
};
using InputValues = std::span<const InputValue>;

/// The working memory of one thread.
struct Scratch {
  std::unique_ptr<Workspace> workspace;
  std::size_t rows = 0;      // largest number of samples at a time that memory is reserved for
  std::size_t of_rules = 0;  // bytes that are reserved for what a rule allocates
  std::size_t gathered = 0;  // capacity of `inputs` in floats
  AlignedFloats inputs;      // row-major, or in panels
  std::vector<float> image;  // before it is augmented
  std::vector<std::uint32_t> samples;
  std::vector<std::int32_t> labels;  // [rows][places]
  std::vector<float> scale;
  std::vector<std::uint32_t> indices;
  std::vector<std::uint64_t> draws;
  std::vector<InputValue> values;      // of the inputs of the evaluated node
  std::vector<const float*> operands;  // the same, densified
  std::vector<float> statistics;
  RowSlots slots;                        // of sparse gradients
  std::vector<AlignedFloats> densified;  // sparse inputs, densified
};

/// A part of a gradient is gathered and passed to Model::gradient in blocks of this many rows, added in order: the second-level cache still
/// holds them when the model reads them. Of samples with many places fewer.
constexpr std::size_t rows_at_once(std::size_t places) {
  constexpr std::size_t most = 256;
  return std::max<std::size_t>(1, most / places);
}
/// A gradient over more rows is cut into equal parts of at most this size: four blocks, for engines share a part among threads
/// (SharedGradient). Samples with places have no such engine, and one block of them is work enough for a thread.
constexpr std::size_t rows_a_part(std::size_t places) { return (places > 1 ? 1 : 4) * rows_at_once(places); }
/// The parts of a large gradient are dealt contiguously to at most this many lanes. Lanes may be evaluated in parallel; each sums its parts
/// in order, and the lanes are summed in order.
inline constexpr std::size_t most_lanes = 16;

/// Threads share a gradient of at least this many multiply-adds, a tenth of a millisecond.
inline constexpr double least_shared = 5e6;

/// FLOPs that a thread does in the time that one byte takes to another process, about (measured over TCP on one machine).
inline constexpr double flops_a_byte = 32;

class Arithmetic {
 public:
  /// `sparse`: keeps gradients of models with a row pattern as SparseRows. Values do not depend on it.
  Arithmetic(const Model& model, const Dataset& data, const Partition& partition, const Kernels& kernels, std::uint64_t seed,
             const Numerics& numerics, bool sparse);

  /// Weights that replace the model's own initial ones; they outlive this.
  void start_from(std::span<const float> weights);
  /// Running statistics are not exchanged: when values are combined (StatisticsRule::combine) the first input's are kept.
  void keep_first_statistics() { keep_first_statistics_ = true; }

  /// Finds a formula's rule. Call it for each formula before any is evaluated, on one thread. Throws std::invalid_argument on an unknown
  /// rule, std::logic_error on a leaf or on a gradient without batches.
  void prepare(const Formula& formula, std::size_t inputs);

  /// 1 except for large gradients.
  std::size_t lanes(const Formula& formula) const;
  /// The most samples in one call of the model.
  std::size_t largest_part(const Formula& formula) const;
  /// The most samples in one block of a gradient.
  std::size_t block() const { return rows_at_once(places_); }
  /// Bytes of a Scratch for this many rows.
  std::size_t scratch_bytes(std::size_t rows) const;
  /// Bytes that the formula's rule allocates while it is evaluated.
  std::size_t rule_bytes(const Formula& formula) const;
  /// The inputs whose buffers may become the output's, the better one first, or -1.
  std::array<int, 2> in_place(const Formula& formula, InputValues inputs) const;
  /// Whether the value will be SparseRows.
  bool sparse(const Formula& formula, InputValues inputs) const;
  /// The number of inputs to densify, into Scratch::densified.
  std::size_t densified(const Formula& formula, InputValues inputs) const;
  /// Densifies a sparse value at its own position.
  void make_dense(float* value) const;

  /// Null unless several threads can compute this gradient together and it is long enough for that to pay.
  const SharedGradient* shared(const Formula& formula) const;
  /// The samples [from, to) of the formula, at most a panel of them, with their inputs in `panel`.
  Rows gather_panel(const Formula& formula, const float* weights, std::size_t from, std::size_t to, float* panel, Scratch& scratch) const;
  /// Floats of the inputs of this many samples.
  std::size_t gathered_floats(std::size_t rows) const { return panels_ ? panel_floats(rows, features_) : rows * features_; }
  /// Bytes that the threads share for this many rows.
  std::size_t shared_bytes(std::size_t rows) const { return model_.shared()->shared_bytes(rows) + gathered_floats(rows) * sizeof(float); }
  std::unique_ptr<Workspace> shared_workspace(std::size_t rows) const { return model_.shared()->shared_workspace(rows); }
  /// Whether the gradients of `samples` take longer to compute than `vectors` of the model's length to send. True where the model's cost is
  /// unknown.
  bool pays_elsewhere(std::size_t samples, std::size_t vectors) const;
  /// Turns a sum of scaled gradients at `weights` into the gradient as sent.
  void finish(const float* weights, float* gradient) const;

  /// Whether `next` and perhaps `after` are a step along this gradient that can be made as it is computed; else null nodes. Without
  /// addresses.
  StepChain step_chain(const LineageNode& gradient, LineageNode* next, LineageNode* after) const;
  /// A gradient and the step along it. Afterwards `out` holds anything but what the step puts there.
  void evaluate_and_step(const Formula& formula, InputValues inputs, const WeightStep& step, float* out, Scratch& scratch) const;

  /// Evaluates a formula of one lane into `out`.
  void evaluate(const Formula& formula, InputValues inputs, float* out, Scratch& scratch) const;
  /// Evaluates one lane of a large gradient into `out`.
  void lane(const Formula& formula, InputValues inputs, std::size_t lane, float* out, Scratch& scratch) const;
  /// Evaluates all lanes on one thread, and reduces them to the gradient in the first buffer. Of dense gradients two buffers are enough, of
  /// sparse ones each lane needs its own.
  void lanes_in_turn(const Formula& formula, InputValues inputs, const std::vector<float*>& buffers, Scratch& scratch) const;
  /// Adds lanes to the first of them, in order: of dense gradients some at a time, of sparse ones all at once.
  void add_lanes(const std::vector<float*>& lanes, Scratch& scratch) const;
  /// Σ loss and number of correct rows over `rows` samples of a data split.
  double loss(const float* weights, const DataSplit& split, std::size_t first, std::size_t rows, std::uint64_t& correct,
              Scratch& scratch) const;

  /// Floats of every vector: parameters, running statistics, registers.
  std::size_t length() const { return model_length_ + numerics_.registers(); }
  /// Of weights; none if the scale is not dynamic.
  std::optional<LossScale> scaling_of(const float* weights) const;
  /// Of parameters and running statistics.
  std::size_t model_length() const { return model_length_; }
  /// Floats of a buffer for a value.
  std::size_t buffer_floats() const { return row_floats_ > 0 ? SparseRows::buffer_floats(length(), row_floats_) : length(); }
  std::unique_ptr<Workspace> workspace() const { return model_.workspace(); }
  static std::size_t samples(const Formula& formula);

 private:
  struct KnownRule {
    const Rule* rule;
    const ElementwiseEntry* entry;
  };
  const ElementwiseEntry& entry_of(const Rule* rule) const;
  std::size_t parts(const Formula& formula) const;
  /// `rows`: the destination of a sparse gradient; `out` is then unused. `step`: null, or what follows.
  void part(const Formula& formula, std::size_t part, std::size_t parts, bool accumulate, float* out, GradientRows* rows,
            const WeightStep* step, Scratch& scratch) const;
  void elementwise(const Formula& formula, InputValues inputs, float* out, Scratch& scratch) const;

  // Sparse values (sparse.cpp).
  SparseRows rows_of(float* value) const { return {value, length(), row_floats_}; }
  SparseRule sparse_rule(const Formula& formula) const;
  /// Only the rows of input 1 change.
  bool descends_along_rows(const Formula& formula, InputValues inputs) const;
  /// Puts the inputs' values, densified, into Scratch::operands.
  void find_operands(InputValues inputs, Scratch& scratch) const;
  void write_dense(const SparseRows& rows, float* out) const;
  /// Over the union of the inputs' rows, one by one; `in_place`: `out` is the first input.
  void combine_rows(const ElementwiseEntry& entry, const std::vector<SparseRows>& inputs, const std::vector<double>& scalars,
                    SparseRows out, bool in_place, Scratch& scratch) const;
  void descend_rows(const ElementwiseEntry& entry, const float* from, const SparseRows& direction, const std::vector<double>& scalars,
                    float* out) const;
  void combine(const ElementwiseEntry& entry, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
               float* out) const;
  Extent extent(std::size_t n) const {
    return {n, tensors_, model_length_, numerics_.optimizer_registers, parameters_ < model_length_ ? parameters_ : 0};
  }
  /// Of the loss-scale registers at the end of a vector, if the scale is dynamic.
  std::size_t scaling() const { return model_length_ + numerics_.optimizer_registers; }
  float loss_scale(const float* weights) const { return numerics_.dynamic() ? weights[scaling()] : numerics_.loss_scale; }
  void initialize(float* out) const;
  /// The registers of a weighted sum of `inputs`.
  void combine_scaling(const std::vector<const float*>& inputs, float* out) const;
  /// An update or a state whose gradient is not finite: everything keeps its value.
  void skip(const ElementwiseEntry& entry, const std::vector<const float*>& inputs, float* out) const;
  /// The registers of the loss scale after an update, from the old ones.
  void advance_scaling(const float* before, bool finite, float* out) const;
  void combine_keeping_statistics(const ElementwiseEntry& entry, const std::vector<double>& scalars, float* out, Scratch& scratch) const;
  /// Of the sample at `position` of `stream`: Rows::draws.
  std::uint64_t draw(std::uint32_t stream, std::uint64_t position) const;
  /// Room for the inputs of this many samples.
  float* room(std::size_t rows, Scratch& scratch) const;
  /// Fills `scratch` with the model's Rows; their inputs go to `inputs`.
  Rows gather(const Formula& formula, const float* weights, std::size_t from, std::size_t to, float* inputs, Scratch& scratch) const;

  const Model& model_;
  const DataSplit& train_;
  const std::size_t features_, places_, parameters_, model_length_;
  const std::size_t row_floats_;  // of sparse gradients; 0: there are none
  const std::vector<TensorInfo> tensors_;
  const bool draws_;
  const bool panels_;  // gradients read their inputs as panels
  const Partition& partition_;
  std::optional<Augmenter> augmenter_;
  double sample_flops_ = 0;  // of the gradient of one sample; 0: unknown
  const Kernels& kernels_;
  const std::uint64_t seed_;
  const Hasher draws_of_seed_;
  const bool couples_;
  const Numerics numerics_;
  std::vector<KnownRule> rules_;
  std::span<const float> initial_;  // empty: the model's own
  bool keep_first_statistics_ = false;
};

}  // namespace straggler
