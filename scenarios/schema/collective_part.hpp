// How collectives run, and how gradients are merged for them: the keys, and checks across them.
#pragma once
#include "scenarios/schema/part.hpp"

namespace straggler {

Part<CollectiveSpec> collective_part();
/// With `overlap` alone, buckets are those of PyTorch's DistributedDataParallel (`bucket_cap_mb`, and `dist._DEFAULT_FIRST_BUCKET_BYTES`;
/// Li et al., PyTorch Distributed, 2020).
void check_collective(Section& collective, CollectiveSpec& spec);

}  // namespace straggler
