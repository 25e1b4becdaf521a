// Synchronous SGD of workers that share states: ZeRO, FSDP, HSDP.
#pragma once
#include "sim/training/shards.hpp"

namespace straggler::schemes {

/// A worker of ssgd with TrainingPlan::sharding. Its values are those of ssgd; what it moves and when is
///  - stages 1 and 2: gradients are reduce-scattered bucket by bucket, a step on one shard, an all-gather of the new weights;
///  - stage 3: before each unit's forward, and again before its backward, its weights are gathered, at most `prefetch` units ahead; the
///    last unit of forward stays. After its backward its gradient is reduce-scattered.
Process sharded_ssgd(Node& node);

}  // namespace straggler::schemes
