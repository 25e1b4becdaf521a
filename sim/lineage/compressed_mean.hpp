// The mean of compressed vectors as an all-reduce computes it from its messages.
#pragma once
#include "sim/lineage/lineage.hpp"

namespace straggler::rules {

/// (q_1, …, q_p) -> their mean, of the numbers that messages carry (SumCodec). Scalars: the compressor's number; 0, or 1 and 2 for left and
/// right factors; 1 to sum as a ring does, 0 in the order of ranks; then the scalars of the messages. Running statistics are those of q_1.
extern const Rule compressed_mean;

}  // namespace straggler::rules
