// What tests of compute times share.
#pragma once
#include <cstdint>

#include "sim/cluster/compute.hpp"

namespace straggler {

/// Of a batch, without jitter.
inline double seconds(const ComputeTime& time, std::int64_t samples) {
  const ComputeTime::Split split = time.at(samples);
  return split.overhead + static_cast<double>(samples) * split.per_sample;
}

}  // namespace straggler
