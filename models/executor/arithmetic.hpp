// What a formula comes to, given its inputs' values. Never depends on threads: pieces are cut by the formula alone.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/data/dataset.hpp"
#include "models/data/partition.hpp"
#include "models/executor/buffer_pool.hpp"
#include "models/executor/numerics.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/zoo/model.hpp"
#include "sim/lineage/evaluator.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

/// The value of an input, as the executor keeps it.
struct InputValue {
  float* floats = nullptr;
  bool sparse = false;  // SparseRows
};
using InputValues = std::span<const InputValue>;

/// What one thread works with.
struct Scratch {
  std::unique_ptr<Workspace> workspace;
  std::size_t rows = 0;      // largest number of samples at a time that memory has been counted for
  std::size_t gathered = 0;  // floats that `inputs` has room for
  AlignedFloats inputs;      // row-major, or in panels
  std::vector<const float*> samples;
  std::vector<std::int32_t> labels;
  std::vector<float> scale;
  std::vector<std::uint32_t> indices;
  std::vector<std::uint64_t> draws;
  std::vector<InputValue> values;      // of the inputs of the node that is evaluated
  std::vector<const float*> operands;  // the same, written out in full
  std::vector<float> statistics;
  RowSlots slots;                        // of sparse gradients
  std::vector<AlignedFloats> densified;  // sparse inputs, written out in full
};

/// A gradient over more rows than this is cut into equal parts of at most as many.
inline constexpr std::size_t rows_a_part = 1024;
/// A part is gathered and given to Model::gradient in blocks of this many rows, which the second-level cache still holds when
/// the model reads them, added up in order.
inline constexpr std::size_t rows_at_once = 256;
/// The parts of a large gradient are dealt to at most this many lanes, contiguously. Lanes may be evaluated at the same time;
/// each adds up its parts in order, and the lanes are added in order.
inline constexpr std::size_t most_lanes = 16;

class Arithmetic {
 public:
  /// `sparse`: gradients of models with a row pattern are kept as SparseRows. What they come to does not depend on it.
  Arithmetic(const Model& model, const Dataset& data, const Partition& partition, const Kernels& kernels, std::uint64_t seed,
             const Numerics& numerics, bool sparse);

  /// Weights instead of the model's own initial ones; they outlive this.
  void start_from(std::span<const float> weights);
  /// Running statistics are not exchanged: of what is combined (StatisticsRule::combine) the first input's remain.
  void keep_first_statistics() { keep_first_statistics_ = true; }

  /// To be called for each formula before any is evaluated, on one thread: finds its rule. Throws std::invalid_argument on an
  /// unknown rule, std::logic_error on a leaf or on a gradient without batches.
  void prepare(const Formula& formula, std::size_t inputs);

  /// 1 but for large gradients.
  std::size_t lanes(const Formula& formula) const;
  /// The most samples that one call of the model gets.
  std::size_t largest_part(const Formula& formula) const;
  /// Bytes of a Scratch for this many rows.
  std::size_t scratch_bytes(std::size_t rows) const;
  /// The input whose buffer may become the output's, or -1.
  int in_place(const Formula& formula, InputValues inputs) const;
  /// Whether the value will be SparseRows.
  bool sparse(const Formula& formula, InputValues inputs) const;
  /// How many inputs must be written out in full, into Scratch::densified.
  std::size_t densified(const Formula& formula, InputValues inputs) const;
  /// Writes out a sparse value in full, in its place.
  void make_dense(float* value) const;

  /// Evaluates a formula of one lane into `out`.
  void evaluate(const Formula& formula, InputValues inputs, float* out, Scratch& scratch) const;
  /// Evaluates one lane of a large gradient into `out`.
  void lane(const Formula& formula, InputValues inputs, std::size_t lane, float* out, Scratch& scratch) const;
  /// Makes the first of a gradient's lanes the gradient: adds all others to it, in order.
  void add_lanes(InputValues inputs, const std::vector<float*>& lanes, Scratch& scratch) const;
  /// Σ loss and number of correct rows of a piece of a data split.
  double loss(const float* weights, const float* inputs, const std::int32_t* labels, std::size_t rows, std::uint64_t& correct,
              Scratch& scratch) const;

  /// Floats of every vector: parameters, running statistics, registers.
  std::size_t length() const { return model_length_ + numerics_.registers(); }
  /// Of weights; none where it is not dynamic.
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
  /// `rows`: where a sparse gradient goes, instead of `out`.
  void part(const Formula& formula, std::size_t part, std::size_t parts, bool accumulate, float* out, GradientRows* rows,
            Scratch& scratch) const;
  void elementwise(const Formula& formula, InputValues inputs, float* out, Scratch& scratch) const;

  // Sparse values (sparse.cpp).
  SparseRows rows_of(float* value) const { return {value, length(), row_floats_}; }
  SparseRule sparse_rule(const Formula& formula) const;
  /// Only rows that input 1 has change.
  bool descends_along_rows(const Formula& formula, InputValues inputs) const;
  /// Leaves the inputs' values, written out in full, in Scratch::operands.
  void find_operands(InputValues inputs, Scratch& scratch) const;
  void write_dense(const SparseRows& rows, float* out) const;
  /// Over all rows that any input has, one by one; `in_place`: `out` is the first input.
  void combine_rows(const ElementwiseEntry& entry, const std::vector<SparseRows>& inputs, const std::vector<double>& scalars,
                    SparseRows out, bool in_place, Scratch& scratch) const;
  void descend_rows(const ElementwiseEntry& entry, const float* from, const SparseRows& direction, const std::vector<double>& scalars,
                    float* out) const;
  void combine(const ElementwiseEntry& entry, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
               float* out) const;
  Extent extent(std::size_t n) const {
    return {n, tensors_, model_length_, numerics_.optimizer_registers, parameters_ < model_length_ ? parameters_ : 0};
  }
  /// Of the numbers at the end of a vector, where the loss scale is dynamic.
  std::size_t scaling() const { return model_length_ + numerics_.optimizer_registers; }
  float loss_scale(const float* weights) const { return numerics_.dynamic() ? weights[scaling()] : numerics_.loss_scale; }
  void initialize(float* out) const;
  /// A sum of scaled gradients at `weights` becomes the gradient as it is sent.
  void finish(const float* weights, float* gradient) const;
  /// The registers of a weighted sum of `inputs`.
  void combine_scaling(const std::vector<const float*>& inputs, float* out) const;
  /// An update or a state whose gradient is not finite: everything stays as it was.
  void skip(const ElementwiseEntry& entry, const std::vector<const float*>& inputs, float* out) const;
  /// The registers of the loss scale after an update, from those before.
  void advance_scaling(const float* before, bool finite, float* out) const;
  void combine_keeping_statistics(const ElementwiseEntry& entry, const std::vector<double>& scalars, float* out, Scratch& scratch) const;
  /// Of the sample that `stream` draws at `position`: Rows::draws.
  std::uint64_t draw(std::uint32_t stream, std::uint64_t position) const;
  /// Into `scratch`: as the model's Rows.
  Rows gather(const Formula& formula, std::size_t from, std::size_t to, Scratch& scratch) const;
  /// Floats of the inputs of so many samples.
  std::size_t gathered_floats(std::size_t rows) const { return panels_ ? panel_floats(rows, features_) : rows * features_; }

  const Model& model_;
  const DataSplit& train_;
  const std::size_t features_, parameters_, model_length_;
  const std::size_t row_floats_;  // of sparse gradients; 0: there are none
  const std::vector<TensorInfo> tensors_;
  const bool draws_;
  const bool panels_;  // gradients read their inputs in panels
  const Partition& partition_;
  std::optional<Augmenter> augmenter_;
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
