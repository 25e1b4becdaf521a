// Processes that a launcher started beside this one to do the same command: straggler-mpi has them, straggler has none.
#pragma once
#include "scenarios/sweep/point_pool.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

class Ranks {
 public:
  virtual ~Ranks() = default;
  /// Of this machine's cores, how many are this process's own.
  virtual unsigned cores() = 0;
  /// Hands the pool's points to the ranks until the pool is over. `jobs`: of each rank, 0: as many as it has cores; likewise `threads`,
  /// of each point's math. Throws UsageError if a rank cannot work as this one does.
  virtual void serve(PointPool& pool, unsigned jobs, unsigned threads, const std::string& kernels) = 0;
};

/// Null: this process is alone.
void set_ranks(Ranks* ranks);

/// Cores to be spread over jobs: all, or this rank's.
unsigned own_cores();
/// Where there are ranks, they take points of this pool, too, whenever it is run: as many at a time as --jobs and --threads say of each
/// process.
void share_with_ranks(PointPool& pool, const Arguments& arguments, const PoolOptions& options);

}  // namespace straggler::cli
