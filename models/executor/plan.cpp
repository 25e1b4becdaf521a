#include "models/executor/plan.hpp"

#include <limits>
#include <stdexcept>

namespace straggler {
namespace {

constexpr std::uint32_t on_stack = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Plan::Plan(LineageNode& target, NodeStates& states, const Take& take) : states_(states) {
  struct Visit {
    LineageNode* node;
    std::size_t next;  // the next input to visit
  };
  std::vector<Visit> stack;
  const auto enter = [&](LineageNode& node) {
    states[node].mark = on_stack;
    stack.push_back({&node, 0});
  };
  // Taking a node may release its ancestors, but never planned nodes: a planned consumer or the caller holds them.
  const auto open = [&](LineageNode& node) { return !states[node].evaluated() && states[node].mark == 0 && !(take && take(node)); };
  if (open(target)) enter(target);
  while (!stack.empty()) {
    Visit& visit = stack.back();
    LineageNode& node = *visit.node;
    if (visit.next < node.inputs.size()) {
      LineageNode& input = *node.inputs[visit.next++];
      if (open(input)) enter(input);
      continue;
    }
    order_.push_back(&node);
    states[node].mark = static_cast<std::uint32_t>(order_.size());
    stack.pop_back();
  }
}

Plan::~Plan() {
  for (LineageNode* node : order_)
    if (node) states_[*node].mark = 0;
}

void Plan::connect() {
  waiting_.assign(order_.size(), 0);
  first_consumer_.assign(order_.size() + 1, 0);
  std::size_t edges = 0;
  for (std::size_t i = 0; i < order_.size(); ++i)
    for (const LineageNode* input : order_[i]->inputs)
      if (!states_[*input].evaluated()) {
        ++waiting_[i];
        ++first_consumer_[states_[*input].mark];  // of position mark - 1, counted at the next index
        ++edges;
      }
  for (std::size_t i = 1; i <= order_.size(); ++i) first_consumer_[i] += first_consumer_[i - 1];
  consumers_.resize(edges);
  std::vector<std::uint32_t> next(first_consumer_.begin(), first_consumer_.end() - 1);
  for (std::size_t i = 0; i < order_.size(); ++i)
    for (const LineageNode* input : order_[i]->inputs)
      if (!states_[*input].evaluated()) consumers_[next[states_[*input].mark - 1]++] = static_cast<std::uint32_t>(i);
}

}  // namespace straggler
