#include "tools/straggler/ranks.hpp"

#include "scenarios/results/run_info.hpp"

namespace straggler::cli {
namespace {

Ranks* others = nullptr;

}  // namespace

void set_ranks(Ranks* ranks) { others = ranks; }

unsigned own_cores() { return others ? others->cores() : this_machine().cores; }

void share_with_ranks(PointPool& pool, const Arguments& arguments, const PoolOptions& options) {
  Ranks* const ranks = others;
  if (!ranks) return;
  if (options.worker.checkpoints) throw UsageError("--checkpoint-every: points of other ranks are not saved; add --alone, or leave it out");
  const unsigned jobs = arguments.has("jobs") ? options.jobs : 0, threads = arguments.common().threads;
  pool.serve_by([=, &pool, kernels = options.worker.kernels] { ranks->serve(pool, jobs, threads, kernels); });
}

}  // namespace straggler::cli
