// Whether a launcher (mpirun, srun) started this process and several others.
#pragma once
#include <string>
#include <vector>

namespace straggler::cli {

/// This process among those that a launcher started together, from its environment variables; without a launcher the only one.
struct Launched {
  unsigned processes = 1, rank = 0;
  bool this_machine = true;  // all of them run here
};
Launched launched();
inline unsigned launched_processes() { return launched().processes; }

/// Whether ranks can share the work of this command.
bool is_shared_by_ranks(const std::string& command);

/// Replaces this process by straggler-mpi, which lies beside it, if its command is one that ranks share and a launcher started several.
/// Otherwise returns; throws UsageError if straggler-mpi cannot be started.
void hand_over_to_ranks(const std::vector<std::string>& arguments);

}  // namespace straggler::cli
