// How many samples a network works on at a time.
#pragma once
#include <cstddef>

namespace straggler {

/// Samples that go through the layers together where none couples them. Fixed, so that results depend on the samples alone: a longer call
/// is the sum of its blocks in order.
inline constexpr std::size_t block_rows = 128;

}  // namespace straggler
