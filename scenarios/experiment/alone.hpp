// Workers that train alone, in closed form: what scaling efficiency is measured against.
#pragma once
#include <vector>

#include "scenarios/experiment/blueprint.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// Samples per second of all workers, if each trained alone: Σ_i b_i / t_i. t_i is the mean time of worker i's batch: computing on its
/// device, with the jitter's mean, or loading where that takes longer; taking the batch and copying it; the optimizer's step. Starts of
/// loader processes and serial parts are not in it. With training.batch.global b_i is the whole global batch (strong scaling): accumulated
/// in as many micro-batches as a device needs whose memory does not hold it.
decltype(RunRecord::alone) rate_alone(const Scenario& scenario, const Blueprint& blueprint);

/// [workers]: the seconds t_i of as many samples for all (Batches::typical), without jitter: who is slow, whatever its batch.
std::vector<double> seconds_alone(const Scenario& scenario, const Blueprint& blueprint);

}  // namespace straggler
