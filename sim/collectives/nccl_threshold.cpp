// Facts of github.com/NVIDIA/nccl, tag v2.4.8-1, as figures: ncclTreeThreshold and ncclThreadThreshold in src/init.cc, getKernelInfo in
// src/enqueue.cc, src/include/enqueue.h. Rates are its guesses in bytes a microsecond, and latencies in microseconds.
#include "sim/collectives/nccl_threshold.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace straggler {

double NcclThresholds::tree_bytes() const {
  constexpr double ring_rate = 5000, ring_step = 6, tree_step_inside = 4, tree_step_between = 15;
  const double ring = nvlink ? ring_rate * channels : ring_rate;
  const double tree = nvlink ? ring * 3 / 4 * (hosts == 2 ? 2 : 1) : ring * 2 / 3;
  const double ring_latency = ring_step * (ranks - 1);
  const double tree_latency = tree_step_between * std::floor(std::log2(hosts)) + tree_step_inside * (std::floor(ranks / hosts) - 1);
  if (hosts < 2 || ring_latency <= tree_latency) return 0;
  if (tree > ring) return std::numeric_limits<double>::infinity();
  return ring * tree / (ring - tree) * (ring_latency - tree_latency);
}

double NcclThresholds::ll_bytes(double bytes, bool tree) const {
  constexpr double fewest_threads = 64, most_threads = 256, enough_for_a_thread = 8, most_for_a_thread = 64;
  const double chunks = tree ? 1 : ranks;  // of a loop
  double threads = fewest_threads;
  while (std::ceil(bytes / (threads * chunks)) > enough_for_a_thread && threads * 2 <= most_threads) threads *= 2;
  const double wanted = std::ceil(bytes / (threads * chunks * enough_for_a_thread));
  const double used = std::clamp(wanted, 1.0, channels);
  const double a_thread = most_for_a_thread * (hosts > 1 ? 2 : 1) * (tree ? 4 : 1);
  return used * threads * chunks * a_thread;
}

}  // namespace straggler
