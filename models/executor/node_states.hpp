// What the executor knows of each node of its lineage, beside the lineage.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/lineage/lineage.hpp"

namespace straggler {

/// Where a node's value is.
enum class ValuePlace : std::uint8_t {
  none,        // not evaluated
  here,        // in memory
  taken_over,  // a consumer writes to its buffer, until the node is released
  elsewhere,   // evaluated in another life of this run, and not restored
  set_aside,   // given up to make room; it can be made again
};

struct NodeState {
  float* value = nullptr;  // ValuePlace::here
  std::uint32_t mark = 0;  // in a plan that is in force: the node's position plus one; else 0
  ValuePlace place = ValuePlace::none;
  bool sparse = false;  // the value's form: SparseRows

  /// False: it must be evaluated when somebody asks for it.
  bool evaluated() const { return place != ValuePlace::none && place != ValuePlace::set_aside; }
};

class NodeStates {
 public:
  /// For all nodes of this lineage that there are now; before any is looked at, on one thread.
  void make_room(const Lineage& lineage) {
    if (states_.size() < lineage.slots()) states_.resize(lineage.slots());
  }
  NodeState& operator[](const LineageNode& node) { return states_[node.slot]; }
  const NodeState& operator[](const LineageNode& node) const { return states_[node.slot]; }

 private:
  std::vector<NodeState> states_;  // [slots]
};

}  // namespace straggler
