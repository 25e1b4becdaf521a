// A command whose points the ranks share: rank 0 runs it like `straggler`, the others compute points for it.
#pragma once
#include <string>
#include <vector>

#include "validation/mpi/channel.hpp"

namespace straggler::cli {

/// All ranks call it. Returns the same exit code on all ranks.
int sweep_on_ranks(const Mpi& mpi, const std::vector<std::string>& arguments);

}  // namespace straggler::cli
