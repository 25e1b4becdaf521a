#include "models/executor/remote_chain.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace straggler {
namespace {

/// Positions in the order of joining, which is an order of computation.
class Growth {
 public:
  Growth(Plan& plan, std::uint32_t first, NodeStates& states) : plan_(plan), states_(states) {
    inputs_ = {plan[first].inputs.front()};
    join(first);
    while (positions_.size() < most_chain_nodes && grow()) {
    }
    while (!closed()) leave();
  }
  const std::vector<std::uint32_t>& positions() const { return positions_; }
  std::int32_t place_of(const LineageNode& node) const {
    const std::uint32_t mark = states_[node].mark;
    const auto at = mark == 0 ? places_.end() : places_.find(mark - 1);
    return at == places_.end() ? -1 : at->second;
  }
  /// Its value is needed elsewhere.
  bool goes_out(std::size_t place) const {
    const LineageNode& node = plan_[positions_[place]];
    std::uint32_t uses = 0;
    for (const std::uint32_t consumer : plan_.consumers(positions_[place])) uses += places_.count(consumer) > 0 ? 1 : 0;
    return node.references > uses;
  }

 private:
  static bool is_gradient(const LineageNode& node) { return node.formula.kind == Formula::Kind::gradient; }

  void join(std::uint32_t position) {
    places_.emplace(position, static_cast<std::int32_t>(positions_.size()));
    positions_.push_back(position);
    gradients_ += is_gradient(plan_[position]);
    following_.erase(position);
    for (const std::uint32_t consumer : plan_.consumers(position))
      if (places_.count(consumer) == 0) following_.insert(consumer);
  }

  /// The first node that follows; false if it cannot join, or would keep a gradient from being computed at the same time as another.
  bool grow() {
    if (following_.empty()) return false;
    std::size_t next_gradients = 0;
    for (const std::uint32_t position : following_)
      if (is_gradient(plan_[position]) && ++next_gradients > 1) return false;
    const std::uint32_t next = *following_.begin();
    const LineageNode& node = plan_[next];
    const bool known_kind = is_gradient(node) ? gradients_ < most_chained_gradients : node.formula.kind == Formula::Kind::elementwise;
    if (!known_kind || node.evaluated) return false;  // evaluated: set aside
    std::set<const LineageNode*> inputs = inputs_;
    for (const LineageNode* input : node.inputs) {
      const NodeState& state = states_[*input];
      if (!state.evaluated()) {
        if (place_of(*input) < 0) return false;
        continue;
      }
      inputs.insert(input);
      if (state.place != ValuePlace::here || state.sparse || inputs.size() > most_chain_inputs) return false;
    }
    inputs_ = std::move(inputs);
    join(next);
    return true;
  }

  void leave() {
    gradients_ -= is_gradient(plan_[positions_.back()]);
    places_.erase(positions_.back());
    positions_.pop_back();
  }

  /// Nothing that goes out waits for a gradient, and what follows the last gradient needs no more inputs than what comes before.
  bool closed() const {
    const auto last = std::find_if(positions_.rbegin(), positions_.rend(), [this](std::uint32_t at) { return is_gradient(plan_[at]); });
    const auto before = static_cast<std::size_t>(positions_.rend() - last) - 1;
    for (std::size_t place = 0; place < before; ++place)
      if (goes_out(place)) return false;
    std::set<const LineageNode*> needed;
    for (std::size_t place = 0; place < positions_.size(); ++place)
      for (const LineageNode* input : plan_[positions_[place]].inputs)
        if (states_[*input].evaluated() && needed.insert(input).second && place > before) return false;
    return true;
  }

  Plan& plan_;
  NodeStates& states_;
  std::vector<std::uint32_t> positions_;
  std::unordered_map<std::uint32_t, std::int32_t> places_;  // by position
  std::set<std::uint32_t> following_;                       // consumers of these that have not joined
  std::set<const LineageNode*> inputs_;                     // values that they need
  std::size_t gradients_ = 0;
};

}  // namespace

PlannedChain::PlannedChain(Plan& plan, std::uint32_t first, NodeStates& states) {
  const Growth grown(plan, first, states);
  positions = grown.positions();
  std::unordered_map<const LineageNode*, std::int32_t> needed;
  for (std::size_t place = 0; place < positions.size(); ++place) {
    const LineageNode& node = plan[positions[place]];
    RemoteChain::Node& sent = chain.nodes.emplace_back(RemoteChain::Node{node.key, &node.formula, {}});
    for (const LineageNode* input : node.inputs) {
      if (const std::int32_t own = grown.place_of(*input); own >= 0) {
        sent.inputs.push_back(own);
        continue;
      }
      const auto [at, fresh] = needed.emplace(input, ~static_cast<std::int32_t>(chain.inputs.size()));
      if (fresh) chain.inputs.push_back({input->key, states[*input].value});
      sent.inputs.push_back(at->second);
    }
    if (grown.goes_out(place)) chain.outputs.push_back({node.key, static_cast<std::uint32_t>(place), nullptr});
  }
}

PlannedChain PlannedChain::of_lane(Plan& plan, std::uint32_t position, std::uint32_t lane, NodeStates& states) {
  const LineageNode& node = plan[position];
  const LineageNode& weights = *node.inputs.front();
  PlannedChain made;
  made.positions = {position};
  made.chain.inputs = {{weights.key, states[weights].value}};
  made.chain.nodes.push_back({node.key, &node.formula, {~0}});
  made.chain.outputs = {{node.key, 0, nullptr}};
  made.chain.lane = lane;
  return made;
}

}  // namespace straggler
