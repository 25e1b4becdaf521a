// One set of coding kernels: compiled with STRAGGLER_CODING (a namespace) and STRAGGLER_CODING_NAME (a string) defined. Plain loops that
// compilers vectorize for the set. All but the table has internal linkage, and no standard library function is used, as in set.inc.hpp.
#include <cstddef>
#include <cstdint>

#include "models/kernels/coding.hpp"

namespace straggler::STRAGGLER_CODING {
namespace {

inline std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
/// `size` of bits, at least 0, decides.
template <class Size>
std::size_t indices_of(std::size_t n, const float* v, std::int32_t least, std::size_t room, std::uint32_t* indices, Size size) {
  constexpr std::size_t block = 32;
  std::size_t found = 0, i = 0;
  const auto take = [&](std::size_t at) {
    if (size(bits_of(v[at])) < least) return;
    if (found < room) indices[found] = static_cast<std::uint32_t>(at);
    ++found;
  };
  for (; i + block <= n; i += block) {
    std::int32_t largest = 0;
    for (std::size_t j = 0; j < block; ++j) {
      const std::int32_t own = size(bits_of(v[i + j]));
      largest = own > largest ? own : largest;
    }
    if (largest < least) continue;
    for (std::size_t j = 0; j < block; ++j) take(i + j);
  }
  for (; i < n; ++i) take(i);
  return found;
}

std::size_t indices_of_large(std::size_t n, const float* v, std::uint32_t least, std::size_t room, std::uint32_t* indices) {
  return indices_of(n, v, static_cast<std::int32_t>(least), room, indices,
                    [](std::uint32_t bits) { return static_cast<std::int32_t>(bits & 0x7fffffffu); });
}

std::size_t indices_of_set(std::size_t n, const float* v, std::size_t room, std::uint32_t* indices) {
  return indices_of(n, v, 1, room, indices, [](std::uint32_t bits) { return bits != 0 ? 1 : 0; });
}

}  // namespace

extern const CodingKernels table;
const CodingKernels table = {
    .name = STRAGGLER_CODING_NAME,
    .indices_of_large = indices_of_large,
    .indices_of_set = indices_of_set,
};
}  // namespace straggler::STRAGGLER_CODING
