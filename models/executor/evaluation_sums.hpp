#pragma once
#include <cstdint>

namespace straggler {

/// The loss and the correct samples of one chunk of an evaluation.
struct ChunkSums {
  double loss = 0;
  std::uint64_t correct = 0;
};

}  // namespace straggler
