// Evaluates lineage on threads, also those of other processes: each node once, on demand.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "models/data/dataset.hpp"
#include "models/data/partition.hpp"
#include "models/executor/evaluation_sums.hpp"
#include "models/executor/executor_options.hpp"
#include "models/zoo/model.hpp"
#include "sim/lineage/evaluator.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

/// A place for a value that no node has yet. Unless it is given, it goes back to where it is from.
using LentFloats = std::unique_ptr<float[], std::function<void(float*)>>;

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
  /// Forces it. It stays in place while the result lives, also for other threads; the result is copied and dropped on this one.
  std::shared_ptr<const float> hold(const Handle& handle);
  /// Stores a value that was computed elsewhere: a leaf's, or any other node's. Does nothing if the node has its value. Throws
  /// MemoryBudgetExceeded.
  void give(const Handle& handle, std::span<const float> values);
  /// The same without a copy: the value is written, on any thread, to what `lend` returns, which may throw MemoryBudgetExceeded.
  LentFloats lend();
  void give(const Handle& handle, LentFloats values);
  /// A part of `evaluate`, for another process. Throws std::logic_error for a chunk that the set does not have.
  ChunkSums evaluate_chunk(std::span<const float> weights, EvaluationSet set, std::uint64_t chunk);
  /// A part of a large gradient at these weights, for another process, into `out`. Throws std::logic_error for a lane that it does not
  /// have.
  void gradient_lane(std::span<const float> weights, const Formula& formula, std::size_t lane, std::span<float> out);
  ExecutorStatistics statistics() const;
  /// Takes all known values (ExecutorOptions::known) between live handles and known or evaluated nodes, so that their ancestors are
  /// released.
  void take_known();

  // For a resumed run (checkpointing.hpp).
  /// As `force`, without the arithmetic: the nodes count as evaluated, and have no value until `restore`.
  void pass_over(const Handle& value);
  /// As `evaluate`, with the known `result`.
  void pass_over(const Handle& weights, EvaluationSet set, const Evaluation& result);
  struct LiveValue {
    Key key;
    const float* values;  // [length()]; null: skipped, or set aside
  };
  /// Recomputes the values that were set aside. Throws MemoryBudgetExceeded.
  void bring_back();
  /// All live evaluated nodes, in the order of their keys.
  std::vector<LiveValue> live_values() const;
  std::size_t length() const;
  /// Sets the value of a skipped node. False if no such key exists. Throws MemoryBudgetExceeded.
  bool restore(const Key& key, std::span<const float> values);

 private:
  void release(LineageNode& node) noexcept override;
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace straggler
