#pragma once
#include <vector>

#include "sim/lineage/update_rule.hpp"

namespace straggler {

/// An optimizer: its rule and its state. A coroutine may hold several, inner and outer ones.
class Optimizer {
 public:
  /// `rule` outlives this.
  explicit Optimizer(const UpdateRule& rule) : rule_(&rule) {}
  const UpdateRule& rule() const { return *rule_; }
  /// One vector each: momentum, moments. Empty before the first step, and after a reset.
  std::vector<Handle>& state() { return state_; }
  const std::vector<Handle>& state() const { return state_; }
  void reset() { state_.clear(); }

 private:
  const UpdateRule* rule_;
  std::vector<Handle> state_;
};

}  // namespace straggler
