// Processes that a launcher started beside this one for the same command: straggler-mpi has them, straggler does not.
#pragma once
#include "scenarios/sweep/point_pool.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

class Ranks {
 public:
  virtual ~Ranks() = default;
  /// The number of this machine's cores that belong to this process.
  virtual unsigned cores() = 0;
  /// Hands the pool's points to the ranks until the pool is over. `jobs`: per rank; 0: its number of cores. `threads`: likewise, for each
  /// point's math. Throws UsageError if a rank cannot work like this one.
  virtual void serve(PointPool& pool, unsigned jobs, unsigned threads, const std::string& kernels) = 0;
};

/// Null: this process is alone.
void set_ranks(Ranks* ranks);

/// Cores to be spread over jobs: all, or this rank's.
unsigned own_cores();
/// Lets the ranks, if any, take points of this pool whenever it is run, with --jobs and --threads per process.
void share_with_ranks(PointPool& pool, const Arguments& arguments, const PoolOptions& options);

}  // namespace straggler::cli
