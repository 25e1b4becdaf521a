// Memory of training on a device, and the largest batch that fits; memory of a run on this machine. In bytes.
#pragma once
#include "scenarios/experiment/training_blueprint.hpp"

namespace straggler {

/// The most samples whose activations a worker of the group holds at once: of its mini-batch or micro-batch.
std::int64_t largest_in_group(const Scenario& scenario, const TrainingBlueprint& blueprint, std::size_t group);
/// Device memory of training with the activations of so many samples: weights, gradient, optimizer state, activations.
double device_bytes(const TrainingBlueprint& blueprint, std::int64_t samples);
/// The part of it that does not grow with the batch.
double fixed_bytes(const TrainingBlueprint& blueprint);
/// Bytes per sample of a batch: its activations and its input.
double sample_bytes(const WorkloadBlueprint& blueprint);
/// False if only the bytes of the model, or sizes of its layers, are given.
inline bool counts_activations(const WorkloadBlueprint& blueprint) {
  return !blueprint.cost.layers.empty() && blueprint.cost.knows_activations;
}
/// The largest batch of one worker whose training fits into this memory; 0: none.
double largest_batch(const TrainingBlueprint& blueprint, double memory);
/// Throws ScenarioErrors where a worker's device has too little memory.
void check_memory(const Scenario& scenario, const TrainingBlueprint& blueprint);

/// Estimated memory of a run on this machine: timing alone, and with the math.
std::size_t timing_bytes(const TrainingBlueprint& blueprint);
std::size_t math_bytes(const TrainingBlueprint& blueprint);
/// What is left for values of the math and their workspaces when a run may take `most` bytes in all: of these the program, its workers and
/// the data are subtracted. Throws MemoryBudgetExceeded if they leave nothing, or too little to read the data.
std::size_t bytes_for_values(const TrainingBlueprint& blueprint, std::size_t most);

}  // namespace straggler
