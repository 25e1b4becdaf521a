// The executor's state of each node of its lineage.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/lineage/lineage.hpp"

namespace straggler {

/// Where a node's value is.
enum class ValuePlace : std::uint8_t {
  none,        // not evaluated
  here,        // in memory
  taken_over,  // a consumer writes to its buffer until the node is released
  elsewhere,   // evaluated before this run was resumed, and not restored
  set_aside,   // evicted to free memory; it can be recomputed
};

struct NodeState {
  float* value = nullptr;  // ValuePlace::here
  std::uint32_t mark = 0;  // in an active plan: the node's position plus one; else 0
  ValuePlace place = ValuePlace::none;
  bool sparse = false;        // the value's form: SparseRows
  std::uint16_t holders = 0;  // Executor::hold: the value stays where it is

  /// False: it must be evaluated on demand.
  bool evaluated() const { return place != ValuePlace::none && place != ValuePlace::set_aside; }
};

class NodeStates {
 public:
  /// Covers all current nodes of this lineage; call it before any is looked up, on one thread.
  void make_room(const Lineage& lineage) {
    if (states_.size() < lineage.slots()) states_.resize(lineage.slots());
  }
  NodeState& operator[](const LineageNode& node) { return states_[node.slot]; }
  const NodeState& operator[](const LineageNode& node) const { return states_[node.slot]; }

 private:
  std::vector<NodeState> states_;  // [slots]
};

}  // namespace straggler
