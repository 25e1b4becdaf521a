// A command whose points ranks share: rank 0 runs it as `straggler` does, the others work for it.
#pragma once
#include <string>
#include <vector>

#include "validation/mpi/channel.hpp"

namespace straggler::cli {

/// All ranks call it. Returns the exit code, the same on all.
int sweep_on_ranks(const Mpi& mpi, const std::vector<std::string>& arguments);

}  // namespace straggler::cli
