// Built-in devices: figures of data sheets and of published measurements, each with its source.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

/// Share of a GPU's memory bandwidth at which the counted bytes of activations move: frameworks move each about four times, in norms,
/// activations and sums of their own. Found on Lambda's rows in TF32 and 16 bits of the A10, A100, B200, H100, L40S, RTX 8000 and V100
/// (docs/decisions/devices.md, decision 217).
inline constexpr double gpu_memory_efficiency = 0.25;

struct DeviceProfile {
  std::string name, summary;
  double peak_flops = 0;         // FLOP per second on fp32 tensors: by TF32 tensor cores where frameworks use them for those
  double efficiency = 1;         // share of the peak that convolutions reach
  double dense_efficiency = 0;   // that linear layers and attention reach; 0: the same
  double memory_bandwidth = 0;   // bytes per second
  double memory_efficiency = 0;  // share of it at which activations move, in turn with arithmetic; 0: the slower of both governs
  double launch = 0;             // seconds per mini-batch, independent of its size
  double issue = 0;              // seconds that the host needs to issue one operation of the network, its backward and its update
  double memory = 0;             // bytes
  double host_to_device = 0;     // bytes per second; 0: there is no copy
  double busy_watts = 0;         // most that it draws, as its maker states; 0: not stated
  // In 16 bits, weights in fp32 (mixed precision). The peak: dense, by tensor cores, sums in fp32. 0: no such units, or no source.
  double half_peak_flops = 0;  // FLOP per second
  double half_efficiency = 0;  // share of that peak
  double half_dense_efficiency = 0;
  std::optional<double> half_launch = {};  // seconds; none: `launch`
  std::optional<double> half_issue = {};   // seconds; none: `issue`
  bool bfloat16 = false;                   // the three hold for bfloat16 as for FP16; false: it has no units for bfloat16
  std::string source;                      // of each of these figures
  std::string error;                       // of measured steps that no figure was taken from
  DeclaredParameters parameters = {};      // none: for the registry
};

}  // namespace straggler
