// The nodes to evaluate for a value (never evaluated and not known from elsewhere, or set aside), in an order that one thread could follow,
// with their dependencies.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "models/executor/node_states.hpp"

namespace straggler {

/// The unevaluated ancestors of a node and the node itself. One plan is active at a time.
class Plan {
 public:
  /// Gives a node its value if it is known from elsewhere, and releases its inputs; else false.
  using Take = std::function<bool(LineageNode&)>;
  /// Depth first, inputs before their consumers, without recursion; taken nodes count as evaluated.
  Plan(LineageNode& target, NodeStates& states, const Take& take = {});
  /// Clears the marks of the nodes without a value; `finish` clears those of evaluated nodes.
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  std::size_t size() const { return order_.size(); }
  LineageNode& operator[](std::size_t position) const { return *order_[position]; }
  /// Null once it has been evaluated, or beyond the last one.
  LineageNode* find(std::size_t position) const { return position < order_.size() ? order_[position] : nullptr; }
  /// The node has been evaluated; it may be released after its consumers.
  void finish(std::size_t position) {
    states_[*order_[position]].mark = 0;
    order_[position] = nullptr;
  }

  /// Computes the results of `waiting` and `consumers`; only needed to work out of order.
  void connect();
  /// The number of planned inputs of the node that are not yet evaluated.
  std::uint32_t& waiting(std::size_t position) { return waiting_[position]; }
  /// Planned consumers of the node, one entry per use.
  std::span<const std::uint32_t> consumers(std::size_t position) const {
    return {consumers_.data() + first_consumer_[position], consumers_.data() + first_consumer_[position + 1]};
  }

 private:
  NodeStates& states_;
  std::vector<LineageNode*> order_;
  std::vector<std::uint32_t> waiting_, first_consumer_, consumers_;
};

}  // namespace straggler
