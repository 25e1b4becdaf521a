// Random orders of samples.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/prefetch.hpp"
#include "sim/base/random.hpp"

namespace straggler {

/// Fisher-Yates shuffle; every order is equally likely.
template <class T>
void shuffle(std::vector<T>& items, RandomStream random) {
  // Indices are drawn in groups, so that their memory is prefetched before the swaps.
  std::array<std::size_t, 32> drawn;
  for (std::size_t left = items.size(); left > 1;) {
    const std::size_t count = std::min(drawn.size(), left - 1);
    for (std::size_t i = 0; i < count; ++i) {
      drawn[i] = random.below(left - i);
      prefetch_line_to_write(&items[drawn[i]]);
    }
    for (std::size_t i = 0; i < count; ++i, --left) std::swap(items[left - 1], items[drawn[i]]);
  }
}

/// `count` of the numbers 0 .. total-1, all sets of that size equally likely, in ascending order. Needs count <= total.
std::vector<std::uint32_t> choose(std::size_t count, std::size_t total, RandomStream random);

}  // namespace straggler
