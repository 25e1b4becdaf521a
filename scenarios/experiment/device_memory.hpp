// Memory of a scenario's training on its workers' devices, in bytes; what does not fit is refused.
#pragma once
#include <cstddef>
#include <cstdint>

#include "scenarios/experiment/memory_parts.hpp"
#include "scenarios/experiment/training_blueprint.hpp"

namespace straggler {

/// Of a worker: what does not grow with its batch, and what grows with each sample.
struct TrainingMemory {
  DeviceMemory fixed;
  double sample = 0;
  DeviceMemory with(std::int64_t samples) const;
  /// The most samples that fit; 0: none.
  double largest_batch(double memory) const;
};
/// Of one worker alone: nothing is shared or reduced.
TrainingMemory memory_alone(const Scenario& scenario, const TrainingBlueprint& blueprint);
TrainingMemory training_memory(const Scenario& scenario, const TrainingBlueprint& blueprint);

/// Bytes per sample of a batch: its activations and its input.
double sample_bytes(const WorkloadBlueprint& blueprint);
/// False if only the bytes of the model, or sizes of its layers, are given.
inline bool counts_activations(const WorkloadBlueprint& blueprint) {
  return !blueprint.cost.layers.empty() && blueprint.cost.knows_activations;
}
/// The most samples whose activations a worker of the group holds at once: of its mini-batch or micro-batch.
std::int64_t largest_in_group(const Scenario& scenario, const TrainingBlueprint& blueprint, std::size_t group);
/// Throws ScenarioErrors where a worker's device has too little memory.
void check_memory(const Scenario& scenario, const TrainingBlueprint& blueprint);

}  // namespace straggler
