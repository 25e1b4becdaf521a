// Runs of messages whose times follow from closed forms: links of 1 Gbit/s and 50 us, computations of 100 ms.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulated/books.hpp"

namespace straggler::test::exchange {

inline constexpr double c = 0.1;
inline constexpr double bandwidth = 125e6, alpha = 100e-6;  // 1 Gbit/s; two links of 50 us

inline bool near_to(Time time, double seconds, double tolerance = 1e-9) { return std::abs(time.seconds() - seconds) <= tolerance; }

/// On links of 1 Gbit/s and 50 us, messages of `bytes`, `updates` updates.
inline Result run_on(int workers, std::uint64_t bytes, int updates, std::vector<std::string> more) {
  std::vector<std::string> sets = {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}",
                                   "workload.cost={bytes: " + std::to_string(bytes) + "B}",
                                   "training.stop={updates: " + std::to_string(updates) + "}"};
  sets.insert(sets.end(), more.begin(), more.end());
  return run_timing(cluster(workers), sets);
}

}  // namespace straggler::test::exchange
