// What the executor's jobs share: the lineage, memory, the threads' scratch and the counts. Everything here is called by one
// thread at a time: by the only one, or under the pool's mutex.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "models/executor/arithmetic.hpp"
#include "models/executor/buffer_pool.hpp"
#include "models/executor/executor_options.hpp"
#include "models/executor/node_states.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

class Resources {
 public:
  Resources(Lineage& lineage, const Arithmetic& arithmetic, std::size_t budget, unsigned threads);

  /// Counts the memory that `scratch` needs for this many rows. False if the budget does not allow it.
  bool prepare(Scratch& scratch, std::size_t rows);
  /// The same, and room for this many sparse values that must be written out in full.
  bool prepare(Scratch& scratch, std::size_t rows, std::size_t densified);
  /// A buffer for the value of the node (or of one of its lanes), which may be that of an input of which the node is the only
  /// holder; the scratch is prepared too, and holds the inputs' values. Null if the budget does not allow it.
  float* begin(const LineageNode& node, Scratch& scratch);
  /// A buffer for a value that is not computed here. Null if the budget does not allow it.
  float* fresh() { return buffers_.take(); }
  /// The value is in `buffer`, which `begin` gave: the node keeps it and lets go of its inputs. `sparse`: its form.
  void store(LineageNode& node, float* buffer, bool sparse) noexcept;
  /// The value came from elsewhere, in a buffer that `fresh` gave: the node keeps it and lets go of its inputs.
  void take(LineageNode& node, float* buffer) noexcept;
  /// The value will not come: takes back what `begin` gave.
  void abandon(const LineageNode& node, float* buffer) noexcept;
  /// Takes back a buffer that belongs to no node.
  void give(float* buffer) noexcept { buffers_.give(buffer); }
  NodeStates& states() { return states_; }
  /// Call before nodes that are new since the last time are looked at.
  void know_nodes() { states_.make_room(lineage_); }
  /// The value, written out in full; the node has one in memory.
  float* dense_value(const LineageNode& node);
  /// Gives up a value that no unevaluated node waits for and that can be made again by its rule from values that are there (or, the
  /// initial weights, from the seed). The node holds those inputs again, and is evaluated once more when something asks for it: to the
  /// same bits. False if there is none; `keep` is none.
  bool set_aside_one(const LineageNode* keep);
  /// Counts as evaluated, without a value; the inputs are let go.
  void pass_over(LineageNode& node) noexcept;
  /// The value of a node that was passed over.
  void restore(const LineageNode& node, float* buffer) noexcept;
  /// The node's last reference is gone.
  void release(LineageNode& node) noexcept;

  /// Says what memory is in use, what did not fit, and what to do.
  std::string refusal() const;
  bool tight() const { return buffers_.tight(); }
  Scratch& scratch(unsigned thread) { return scratch_[thread]; }
  ExecutorStatistics statistics() const;
  void count_evaluation() { ++counts_.evaluations; }

 private:
  /// The input whose buffer this is, which `begin` gave; null if it is a fresh one.
  NodeState* owner_of(const LineageNode& node, const float* buffer);
  void keep(const LineageNode& node, float* buffer, bool sparse) noexcept;
  /// How the node's value could be made again, noted while memory is short.
  void note_recipe(const LineageNode& node) noexcept;
  bool can_be_remade(const std::vector<Key>& inputs) const;

  Lineage& lineage_;
  const Arithmetic& arithmetic_;
  BufferPool buffers_;
  NodeStates states_;
  std::vector<Scratch> scratch_;  // [threads]
  ExecutorStatistics counts_;
  std::unordered_map<const LineageNode*, std::vector<Key>> recipes_;  // of values that follow cheaply from these
};

}  // namespace straggler
