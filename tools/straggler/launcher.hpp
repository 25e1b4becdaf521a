// Who started this process: a launcher that started several (mpirun, srun), or not.
#pragma once
#include <string>
#include <vector>

namespace straggler::cli {

/// How many processes the launcher started together, by the environment that it gave them; 1 without one.
unsigned launched_processes();

/// Whether ranks can share the work of this command.
bool is_shared_by_ranks(const std::string& command);

/// Replaces this process by straggler-mpi, which lies beside it, if its command is one that ranks share and a launcher started several.
/// Returns if not; throws UsageError if straggler-mpi cannot be started.
void hand_over_to_ranks(const std::vector<std::string>& arguments);

}  // namespace straggler::cli
