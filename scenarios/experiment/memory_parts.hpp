// What training holds on a device, part by part, in bytes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace straggler {

struct DeviceMemory {
  double weights = 0;      // that are computed with
  double gradients = 0;    // with what compression left out of earlier ones
  double optimizer = 0;    // its state and scratch, and in 16 bits the FP32 weights
  double activations = 0;  // with the inputs, of a micro-batch
  double gathered = 0;     // units of sharded weights, a unit's gradient, and a host's second copy of the weights
  double buckets = 0;      // in which an all-reduce takes gradients
  double total() const { return weights + gradients + optimizer + activations + gathered + buckets; }
};

/// The states of training, which may be shared.
struct TrainingStates {
  double parameters = 0;
  double number_bytes = 4;     // of a weight that is computed with, and of a gradient
  double optimizer_bytes = 0;  // of the whole state
  double scratch_bytes = 0;
  double residual_bytes = 0;  // of what compression left out
};

/// How workers share them: each keeps 1 / ways of the optimizer's state from stage 1 on (Rajbhandari et al., ZeRO, SC 2020), of gradients
/// from 2, of weights at 3.
struct StateShares {
  std::int64_t stage = 0;
  double ways = 1;
  double padding = 1;              // of whole matrices: the largest share over 1 / ways
  bool whole_gradients = false;    // they are added up over micro-batches before they are reduced
  std::int64_t prefetch = 1;       // units gathered ahead
  bool keeps_gathered = false;     // all units, over micro-batches
  double secondary_ways = 0;       // workers of a host that keep a second copy of the weights together; 0: there is none
  double secondary_bytes = 4;      // of a number of it
  std::vector<double> units = {};  // [units] parameters
};
/// Without activations and buckets.
DeviceMemory states_on_device(const TrainingStates& states, const StateShares& shares);
/// "weights 498 MB, gradients 498 MB, …": the parts that are there.
std::string parts_of(const DeviceMemory& memory);

}  // namespace straggler
