// The math plane of one run, whichever back end drives it.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "models/executor/executor.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/data_cache.hpp"

namespace straggler {

inline constexpr const char* files_changed = "its files were changed while they were read; start again when they no longer change";

/// Its parts refer to those above them. The blueprint outlives it.
struct MathPlane {
  /// Reads the data on at most this many threads, or takes it from the `cache`. Throws ScenarioErrors where that is wrong.
  MathPlane(const WorkloadBlueprint& blueprint, const Scenario& scenario, unsigned threads = 1, DataCache* cache = nullptr);
  /// `options`: threads and memory; the rest is the scenario's.
  std::unique_ptr<Executor> executor(Lineage& lineage, ExecutorOptions options) const;

  const WorkloadBlueprint& blueprint;
  const Scenario& scenario;
  std::shared_ptr<const Dataset> data;
  std::unique_ptr<Partition> partition;
};

/// Share of the most frequent class among the test samples; none: the data have no classes, or no test samples.
std::optional<double> guessing_accuracy(const Dataset& data);

/// Sets name, scheme, seed and groups.
void name_record(RunRecord& record, const Scenario& scenario, const Blueprint& blueprint);
/// Losses and accuracies of the final weights over the full sets, and their loss scale. Warns of a loss far above the initial one.
void evaluate_final(RunRecord& record, Evaluator& evaluator, Lineage& lineage, const Handle& weights, const WorkloadBlueprint& blueprint);
/// After evaluate_final(): warns of a final accuracy that is no better than `guess`.
void compare_with_guessing(RunRecord& record, std::optional<double> guess);

}  // namespace straggler
