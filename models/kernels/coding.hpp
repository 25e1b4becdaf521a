// The loops of compressors that look for a few of many values. One source (coding.inc.hpp), compiled once per instruction set as the
// kernels are, and once for the baseline. Every set gives the same.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace straggler {

struct CodingKernels {
  std::string_view name;  // that of the set of Kernels

  /// Indices of values whose magnitude as bits is at least `least`, in ascending order, to `indices` while there is room; how many
  /// there are.
  std::size_t (*indices_of_large)(std::size_t n, const float* v, std::uint32_t least, std::size_t room, std::uint32_t* indices);
  /// The same of values that have a bit set: all but 0, which -0 is not.
  std::size_t (*indices_of_set)(std::size_t n, const float* v, std::size_t room, std::uint32_t* indices);
};

/// The set of that name, of those that this processor can run. Throws std::invalid_argument if there is none.
const CodingKernels& coding_kernels(std::string_view name);
/// The fastest.
const CodingKernels& coding_kernels();

}  // namespace straggler
