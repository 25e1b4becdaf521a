#pragma once
#include <cstdint>

namespace straggler {

/// Of a chunk of an evaluation.
struct ChunkSums {
  double loss = 0;
  std::uint64_t correct = 0;
};

}  // namespace straggler
