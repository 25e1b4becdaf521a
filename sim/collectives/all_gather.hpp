// All-gather: at the end every rank has what each rank brought.
#pragma once
#include <memory>

#include "sim/collectives/schedule.hpp"

namespace straggler {

/// Around a ring: in p - 1 steps each rank passes to the next what it got last, its own first. Each brings `bytes`:
///   T = (p - 1)(α + n β)
/// Thakur, Rabenseifner & Gropp, Optimization of Collective Communication Operations in MPICH, 2005.
std::unique_ptr<CollectiveSchedule> ring_all_gather(std::uint64_t bytes, std::size_t ranks);

}  // namespace straggler
