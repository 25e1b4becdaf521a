// What training takes of a device's memory, and what fits; what a run takes of this machine's. In bytes.
#pragma once
#include "scenarios/experiment/training_blueprint.hpp"

namespace straggler {

/// What training takes of a device with the batch per worker: weights, gradient, optimizer state, activations.
double device_bytes(const TrainingBlueprint& blueprint);
/// The part of it that does not grow with the batch.
double fixed_bytes(const TrainingBlueprint& blueprint);
/// What each sample of a batch adds: its activations and its input.
double sample_bytes(const WorkloadBlueprint& blueprint);
/// False where only the bytes of the model are given: nobody knows its layers.
inline bool counts_activations(const WorkloadBlueprint& blueprint) { return !blueprint.cost.layers.empty(); }
/// The largest batch of one worker whose training fits into so much memory; 0: none.
double largest_batch(const TrainingBlueprint& blueprint, double memory);
/// Throws ScenarioErrors where a worker's device has too little memory.
void check_memory(const Scenario& scenario, const TrainingBlueprint& blueprint);

/// What a run takes of this machine, estimated: timing alone, and with the math.
std::size_t timing_bytes(const TrainingBlueprint& blueprint);
std::size_t math_bytes(const TrainingBlueprint& blueprint);

}  // namespace straggler
