#pragma once
#include "validation/mpi/channel.hpp"

namespace straggler {

/// Of the cores that the ranks of this machine may run on, the share of each: at least 1. All ranks call it.
unsigned cores_of_rank(const Mpi& mpi);

}  // namespace straggler
