// Block size of a network's computation.
#pragma once
#include <cstddef>

namespace straggler {

/// Samples that pass through uncoupled layers together. Fixed, so that results depend on the samples alone: a longer call is the sum of its
/// blocks in order.
inline constexpr std::size_t block_rows = 128;

}  // namespace straggler
