// Evaluates lineage on threads: each node once, when somebody looks.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/data/dataset.hpp"
#include "models/data/partition.hpp"
#include "models/executor/executor_options.hpp"
#include "models/zoo/model.hpp"
#include "sim/lineage/evaluator.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

/// One executor serves one lineage; it must be destroyed before it.
class Executor final : public Evaluator, private ValueOwner {
 public:
  Executor(Lineage& lineage, const Model& model, const Dataset& data, const Partition& partition, const Kernels& kernels,
           ExecutorOptions options);
  ~Executor() override;
  Evaluation evaluate(const Handle& weights, EvaluationSet set) override;
  std::optional<LossScale> loss_scale(const Handle& weights) override;
  void force(const Handle& value) override;
  /// Floats of a value before its registers: Model::length().
  std::size_t model_length() const;
  /// Forces it. Valid while the handle lives and until the next call.
  std::span<const float> value(const Handle& handle);
  /// What was computed elsewhere: the value of a leaf, or what another node would come to. Nothing if it has its value. Throws
  /// MemoryBudgetExceeded.
  void give(const Handle& handle, std::span<const float> values);
  ExecutorStatistics statistics() const;
  /// Takes all known values (ExecutorOptions::known) that stand between live handles and what is known or evaluated, so that nothing behind
  /// them is held any more.
  void take_known();

  // For a run that goes on where another one stopped (checkpointing.hpp).
  /// As `force`, without the arithmetic: what it would evaluate counts as evaluated, and has no value until `restore`.
  void pass_over(const Handle& value);
  /// As `evaluate`, which came to `result`.
  void pass_over(const Handle& weights, EvaluationSet set, const Evaluation& result);
  struct LiveValue {
    Key key;
    const float* values;  // [length()]; null: passed over, or set aside
  };
  /// Computes what was set aside. Throws MemoryBudgetExceeded.
  void bring_back();
  /// Of all live nodes that have been evaluated, in the order of their keys.
  std::vector<LiveValue> live_values() const;
  std::size_t length() const;
  /// The value of a node that was passed over. False if there is none of that name. Throws MemoryBudgetExceeded.
  bool restore(const Key& key, std::span<const float> values);

 private:
  void release(LineageNode& node) noexcept override;
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace straggler
