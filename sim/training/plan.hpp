// What training is, for every node alike: workers, batches, data, optimizer.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/lineage/update_rule.hpp"
#include "sim/training/payload.hpp"

namespace straggler {

/// What all nodes of a run share; outlives them.
struct TrainingPlan {
  Rank workers = 1;
  std::int64_t batch = 1;           // per worker, before the remainder of a global batch
  std::int64_t larger_batches = 0;  // the first so many workers take one sample more
  bool drop_last = false;
  bool ring_sums = false;  // an all-reduce sums in the order of a ring, as real ranks do; else in rank order
  bool fuse = true;        // same-weights gradients that are averaged are evaluated as one batch
  std::uint64_t seed = 1;
  std::uint64_t train_samples = 1;            // size of the training set
  std::uint64_t epoch_samples = 1;            // of which one pass counts: less where drop_last leaves some out; 0: unknown
  bool shared_stream = false;                 // all workers draw from one pool
  std::vector<std::uint64_t> stream_samples;  // [workers] samples of a worker's own part; empty if shared
  bool endless = false;                       // without data: no batch is cut where a pass over a part ends
  double input_bytes = 0, output_bytes = 0;   // of one sample
  const UpdateRule* optimizer = nullptr;
  const Rule* rounding = nullptr;  // what a message does to weights; none: nothing
};

}  // namespace straggler
