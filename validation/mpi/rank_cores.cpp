#include "validation/mpi/rank_cores.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>

#include "sim/base/machine.hpp"

namespace straggler {

unsigned cores_of_rank(const Mpi& mpi) {
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mpi.rank(), MPI_INFO_NULL, &machine);
  cpu_set_t mine, all;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, machine);
  int ranks = 1;
  MPI_Comm_size(machine, &ranks);
  MPI_Comm_free(&machine);
  return std::max(1u, std::min(static_cast<unsigned>(CPU_COUNT(&all)), core_quota()) / static_cast<unsigned>(ranks));
}

}  // namespace straggler
