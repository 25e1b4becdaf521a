// The math plane of one run, whichever back end drives it.
#pragma once
#include <memory>
#include <vector>

#include "models/executor/executor.hpp"
#include "scenarios/experiment/blueprint.hpp"

namespace straggler {

/// Its parts refer to those above them. The blueprint outlives it.
struct MathPlane {
  /// Reads the data. Throws ScenarioErrors where that is wrong.
  MathPlane(const Blueprint& blueprint, const Scenario& scenario);
  /// `options`: threads and memory; the rest is the scenario's.
  std::unique_ptr<Executor> executor(Lineage& lineage, ExecutorOptions options) const;

  const Blueprint& blueprint;
  const Scenario& scenario;
  Dataset data;
  std::unique_ptr<Partition> partition;
};

/// Who ran: name, scheme, seed, groups.
void name_record(RunRecord& record, const Scenario& scenario, const Blueprint& blueprint);
/// Losses and accuracies of the final weights over the full sets. Returns the weights.
std::vector<float> evaluate_final(RunRecord& record, Executor& executor, const Handle& weights);

}  // namespace straggler
