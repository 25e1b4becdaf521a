// Who slows whom in a job with pipeline stages: its recorded operations are replayed with durations that are recorded, or even. The rules
// are those of Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis", OSDI 2025.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace straggler {

struct PipelineOperation {
  std::int64_t step = 0;
  std::uint32_t rank = 0, stage = 0;  // rank: of data parallelism
  std::uint32_t kind = 0;             // in the list of kinds
  std::int64_t sequence = 0;          // counts operations of a kind
  std::int64_t chunk = 0, micro_batch = 0;
  double begin = 0, seconds = 0;
};

/// Shares are of the mean step. A replay: computations keep their recorded order on each worker. Forward of a micro-batch waits for that of
/// the stage before, backward for that of the stage behind. The first forward waits for gathered parameters; behind the computations come
/// reductions, clipping and the optimizer. A collective lasts from its last arrival for as long as its transfer took. Even: a computation
/// takes the mean of its kind over all workers and steps, a transfer the median.
struct PipelineSlowdowns {
  std::size_t ranks = 0, stages = 0, steps = 0;
  std::vector<std::int64_t> left_out;              // steps whose operations do not fit together
  double recorded = 0, replayed = 0, even = 0;     // seconds of a step
  double all = 1;                                  // S: replayed over even
  std::vector<double> by_kind;                     // [kinds] S with that kind alone as recorded; 0: the kind is not replayed
  std::vector<double> by_rank, by_stage;           // [ranks], [stages]
  std::vector<double> by_worker;                   // [ranks * stages], stage after stage of a rank
  bool workers_are_bounds = false;                 // by_worker: the lesser of rank and stage, since there are too many workers
  std::vector<std::size_t> slowest;                // the 3 % of workers that compute longest, at least one
  double slowest_share = 0, last_stage_share = 0;  // M_W, M_S: share of the loss that evening them gives back
};

/// Throws std::invalid_argument ("what is wrong; what would be right") where nothing can be replayed.
PipelineSlowdowns pipeline_slowdowns(const std::vector<PipelineOperation>& operations, const std::vector<std::string>& kinds);

}  // namespace straggler
