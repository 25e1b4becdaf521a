// Which nodes must be evaluated for a value (those that never were and are not known from elsewhere, and those whose value was set aside),
// in an order that one thread could follow, and who waits for whom.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "models/executor/node_states.hpp"

namespace straggler {

/// The unevaluated ancestors of a node and the node itself. One plan is in force at a time.
class Plan {
 public:
  /// Gives a node its value if that is known from elsewhere, and lets go of its inputs; else false.
  using Take = std::function<bool(LineageNode&)>;
  /// Depth first, inputs before their consumers, without recursion; what is taken is as good as evaluated.
  Plan(LineageNode& target, NodeStates& states, const Take& take = {});
  /// Takes the marks off the nodes that have no value yet; those of evaluated nodes are taken off by `finish`.
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  std::size_t size() const { return order_.size(); }
  LineageNode& operator[](std::size_t position) const { return *order_[position]; }
  /// The node has been evaluated; it may be gone after its consumers are.
  void finish(std::size_t position) {
    states_[*order_[position]].mark = 0;
    order_[position] = nullptr;
  }

  /// Fills what `waiting` and `consumers` return; only needed to work out of order.
  void connect();
  /// How many inputs of the node are planned and not yet arrived.
  std::uint32_t& waiting(std::size_t position) { return waiting_[position]; }
  /// Planned nodes that take this one as an input, once for each time they do.
  std::span<const std::uint32_t> consumers(std::size_t position) const {
    return {consumers_.data() + first_consumer_[position], consumers_.data() + first_consumer_[position + 1]};
  }

 private:
  NodeStates& states_;
  std::vector<LineageNode*> order_;
  std::vector<std::uint32_t> waiting_, first_consumer_, consumers_;
};

}  // namespace straggler
