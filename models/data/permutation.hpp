// Random orders of samples.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"

namespace straggler {

/// Shuffles by Fisher and Yates; every order is equally likely.
template <class T>
void shuffle(std::vector<T>& items, RandomStream random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

/// `count` of the numbers 0 .. total-1, all sets of that size equally likely, in ascending order. Needs count <= total.
std::vector<std::uint32_t> choose(std::size_t count, std::size_t total, RandomStream random);

}  // namespace straggler
