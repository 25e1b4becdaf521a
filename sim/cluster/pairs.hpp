// The unordered pairs of 0, 1, 2, …, numbered (0,1), (0,2), (1,2), (0,3), …: pair i < j is j (j - 1) / 2 + i.
#pragma once
#include <cmath>
#include <cstddef>
#include <utility>

namespace straggler {

inline std::size_t pairs_below(std::size_t n) { return n < 2 ? 0 : n * (n - 1) / 2; }
inline std::size_t pair_number(std::size_t i, std::size_t j) { return i < j ? pairs_below(j) + i : pairs_below(i) + j; }
/// The smaller number first.
inline std::pair<std::size_t, std::size_t> pair_of(std::size_t number) {
  std::size_t j = static_cast<std::size_t>((1 + std::sqrt(1 + 8 * static_cast<double>(number))) / 2);
  while (pairs_below(j) > number) --j;
  while (pairs_below(j + 1) <= number) ++j;
  return {number - pairs_below(j), j};
}

}  // namespace straggler
