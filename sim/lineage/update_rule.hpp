// The timing plane's view of an optimizer: it turns handles into handles.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "sim/lineage/lineage.hpp"

namespace straggler {

/// One optimizer with its schedule. Immutable: the state is the caller's (momentum buffers, one vector per node), as handles.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// One step from `weights` along `gradient`. `epochs`: samples counted so far / size of the training set, which schedules
  /// follow; `averaged`: how many workers' gradients were averaged in `gradient`, or mean batches (the scaling rule's factor). `state` is
  /// read and replaced; empty at the start and after a reset.
  virtual Handle step(Lineage& lineage, const Handle& weights, const Handle& gradient, double epochs, double averaged,
                      std::vector<Handle>& state) const = 0;
  virtual double learning_rate(double epochs, double averaged) const = 0;
  /// Σ_j a_j, if steps from an empty state at a constant rate lead to w - rate Σ_j a_j g_j. None: no such numbers are known.
  virtual std::optional<double> weight_of_steps(double /*steps*/) const { return std::nullopt; }
  /// The name of what reads norms of whole vectors or tensors: along a part of a gradient a step would be wrong. Empty: nothing does.
  virtual std::string_view needs_norms() const { return {}; }
  /// It reads a norm of each tensor, and of nothing larger.
  virtual bool needs_norms_of_tensors() const { return false; }
  /// The name of what reads whole tensors, so that servers with a part of the weights each cannot step either. Empty: nothing does.
  virtual std::string_view needs_tensors() const { return {}; }
};

}  // namespace straggler
