// The pieces in which a network is computed and moved, and how workers share its states.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/base/rank.hpp"

namespace straggler {

/// A bucket of gradients that leave together, or a unit whose weights are gathered together: consecutive layers.
struct WorkBucket {
  std::uint64_t bytes = 0;    // of its gradients or weights, in the precision of the run
  std::uint64_t numbers = 0;  // parameters
  double forward_until = 1;   // share of forward's time after which forward is through it
  double backward_until = 1;  // the same of backward
};

/// Each worker of a shard group of `ways` keeps 1 / ways of the optimizer's state (stage 1), of the gradients too (2), of the weights too
/// (3). Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, SC 2020; Zhao et al., PyTorch FSDP, VLDB
/// 2023. Groups are the workers of a host (HSDP), or all workers.
struct Sharding {
  std::int64_t stage = 0;  // 0: every worker keeps all states
  Rank ways = 1;
  Rank on_host = 1;                                 // workers of a host, consecutive; the same on each, where one of the next two holds
  bool in_host = false;                             // a shard group is a host: gradients of shards are all-reduced between hosts
  bool secondary_in_host = false;                   // backward gathers from a second copy that each host keeps (hpZ, Wang et al. 2023)
  bool overlaps = false;                            // stages 1 and 2: a bucket leaves while backward continues
  bool reduces_each = true;                         // stages 2 and 3: after each micro-batch
  bool keeps_gathered = false;                      // stage 3: a unit is gathered once an update
  std::int64_t prefetch = 1;                        // units whose gather may be issued ahead of the one that is computed
  std::uint64_t gathered_bytes = 4;                 // of a number
  std::uint64_t reduced_bytes = 4;                  // likewise
  double padding = 1;                               // of whole tensors: bytes of equal parts as large as the largest, over those of all
  std::vector<std::uint64_t> numbers_of_step = {};  // bytes of all-reduces before a step: an overflow flag, norms
  bool on() const { return stage > 0; }
};

}  // namespace straggler
