// Results of earlier runs about weights, by their lineage key: the math of a trajectory depends on the order of its updates only, so that
// runs which apply the same updates in the same order share it, and runs with the same beginning share it.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/key.hpp"
#include "sim/lineage/evaluator.hpp"

namespace straggler {

/// Hash of the sources that compute numbers: results of another program version are not used.
Key math_stamp();
/// Names an evaluation: the weights, the samples they were evaluated on, and the program's math (`stamp`).
Key evaluation_key(const Key& weights, EvaluationSet set, std::size_t train_subset, const Key& stamp);
/// Names the loss scale that goes with weights. It is kept as evaluations are: the scale as the loss, the updates skipped as the accuracy.
Key loss_scale_key(const Key& weights, const Key& stamp);
/// Names all values that follow from a lineage's root by the program's math.
Key value_root(const Key& root, const Key& stamp);

/// A cache: dropped values are computed again. Safe to use from several threads.
class TrajectoryStore {
 public:
  virtual ~TrajectoryStore() = default;
  virtual std::optional<Evaluation> find(const Key& evaluation) = 0;
  virtual void keep(const Key& evaluation, const Evaluation& value) = 0;

  // Values of lineage nodes, by their keys: weights, and the rest of the training state (momentum, older weights of gradients in flight). A
  // store that keeps none still serves evaluations.
  /// The keys of all that are kept below this root (value_root).
  virtual std::vector<Key> values(const Key& /*root*/) { return {}; }
  /// False: it is not kept, or not of this length.
  virtual bool find_value(const Key& /*root*/, const Key& /*value*/, std::span<float> /*to*/) { return false; }
  virtual void keep_value(const Key& /*root*/, const Key& /*value*/, std::span<const float> /*floats*/) {}
  virtual void forget_value(const Key& /*root*/, const Key& /*value*/) {}
  /// Bytes of values that one run should keep at most.
  virtual std::uint64_t value_budget() const { return 0; }
};

}  // namespace straggler
