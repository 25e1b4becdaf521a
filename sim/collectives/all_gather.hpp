// All-gather: each rank has a block, and at the end all ranks have all blocks.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/collectives/schedule.hpp"

namespace straggler {

/// As a ring: in each of p - 1 steps a rank passes one block on to the next rank, starting with its own. For blocks of n bytes
///   T = (p - 1)(α + n β).
/// `block_bytes`: by rank; they may differ. Thakur, Rabenseifner & Gropp, Optimization of Collective Communication Operations in MPICH,
/// 2005.
std::unique_ptr<CollectiveSchedule> all_gather_ring(std::vector<std::uint64_t> block_bytes);

}  // namespace straggler
