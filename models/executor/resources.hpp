// Shared by the executor's jobs: the lineage, memory, the threads' scratch and the counters. One thread at a time calls it: the only one,
// or the holder of the pool's mutex.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "models/executor/arithmetic.hpp"
#include "models/executor/buffer_pool.hpp"
#include "models/executor/executor_options.hpp"
#include "models/executor/node_states.hpp"
#include "models/executor/plan.hpp"
#include "models/executor/shared_work.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

class Resources {
 public:
  Resources(Lineage& lineage, const Arithmetic& arithmetic, std::size_t budget, unsigned threads);

  /// Charges the memory that `scratch` needs for this many rows. False if the budget does not allow it.
  bool prepare(Scratch& scratch, std::size_t rows);
  /// The same, plus space for this many densified values.
  bool prepare(Scratch& scratch, std::size_t rows, std::size_t densified);
  /// Charges the bytes that a rule allocates on the thread of `scratch`.
  bool prepare_rule(Scratch& scratch, std::size_t bytes);
  /// Allocates the memory of a shared gradient at its first use. Null if the budget does not allow it.
  SharedScratch* prepare_shared();
  /// A buffer for the value of the node (or of one of its lanes), possibly the buffer of an input that only this node still needs. Prepares
  /// the scratch too, with the inputs' values. Null if the budget does not allow it.
  float* begin(const LineageNode& node, Scratch& scratch);
  /// The nodes of a step to make while the gradient at `position` of the plan is computed into `gradient`, which `begin` returned, with
  /// their addresses; none (null) where that cannot be done. The new weights replace the old ones, or else the gradient.
  StepChain begin_step(const Plan& plan, std::size_t position, float* gradient);
  /// Stores all of it.
  void store_step(LineageNode& node, float* gradient, const StepChain& chain) noexcept;
  void abandon_step(float* gradient, const StepChain& chain) noexcept;
  /// A buffer for a value from elsewhere. Null if the budget does not allow it.
  float* fresh() { return buffers_.take(); }
  /// The value is in `buffer`, which `begin` returned: the node keeps it and releases its inputs. `sparse`: its form.
  void store(LineageNode& node, float* buffer, bool sparse) noexcept;
  /// The value came from elsewhere, in a buffer that `fresh` returned: the node keeps it and releases its inputs.
  void take(LineageNode& node, float* buffer) noexcept;
  /// The evaluation is abandoned: takes back the buffer that `begin` returned.
  void abandon(const LineageNode& node, float* buffer) noexcept;
  /// Takes back a buffer that belongs to no node.
  void give(float* buffer) noexcept { buffers_.give(buffer); }
  NodeStates& states() { return states_; }
  /// Call before new nodes are looked up.
  void know_nodes() { states_.make_room(lineage_); }
  /// The value, densified; the node has one in memory.
  float* dense_value(const LineageNode& node);
  /// Evicts a value that no unevaluated node waits for and that its rule can recompute from values in memory (or, for the initial weights,
  /// from the seed). The node holds those inputs again, and is re-evaluated on demand, to the same bits. False if there is none; `keep` and
  /// what has holders are exempt.
  bool set_aside_one(const LineageNode* keep);
  /// Marks it as evaluated, without a value; the inputs are released.
  void pass_over(LineageNode& node) noexcept;
  /// The same, and counts it as computed: its consumers were computed with it, and are told of next.
  void computed_elsewhere(LineageNode& node) noexcept;
  /// The value of a skipped node.
  void restore(const LineageNode& node, float* buffer) noexcept;
  /// The node's last reference is gone.
  void release(LineageNode& node) noexcept;

  /// Reports the memory in use, the failed request, and the remedy.
  std::string refusal() const;
  bool tight() const { return buffers_.tight(); }
  Scratch& scratch(unsigned thread) { return scratch_[thread]; }
  ExecutorStatistics statistics() const;
  std::uint64_t gradient_samples() const { return counts_.gradient_samples; }
  void count_evaluation() { ++counts_.evaluations; }

 private:
  /// The input that owns this buffer, which `begin` returned; null if it is a fresh one.
  NodeState* owner_of(const LineageNode& node, const float* buffer);
  void keep(const LineageNode& node, float* buffer, bool sparse) noexcept;
  void count(const LineageNode& node) noexcept;
  /// Records how to recompute the node's value, while memory is short.
  void note_recipe(const LineageNode& node) noexcept;
  bool can_be_remade(const std::vector<Key>& inputs) const;

  Lineage& lineage_;
  const Arithmetic& arithmetic_;
  BufferPool buffers_;
  NodeStates states_;
  std::vector<Scratch> scratch_;  // [threads]
  SharedScratch shared_;
  ExecutorStatistics counts_;
  std::unordered_map<const LineageNode*, std::vector<Key>> recipes_;  // inputs of values that are cheap to recompute
};

}  // namespace straggler
