// Compressor loops that select a few of many values. One source (coding.inc.hpp), compiled once per instruction set as the kernels are, and
// once for the baseline. Every set gives the same results.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace straggler {

struct CodingKernels {
  std::string_view name;  // of the Kernels set

  /// Writes the indices of values whose magnitude as bits is at least `least`, in ascending order, to `indices` up to its capacity; returns
  /// how many there are.
  std::size_t (*indices_of_large)(std::size_t n, const float* v, std::uint32_t least, std::size_t room, std::uint32_t* indices);
  /// The same for values with any bit set: all but +0; -0 counts.
  std::size_t (*indices_of_set)(std::size_t n, const float* v, std::size_t room, std::uint32_t* indices);
};

/// The set of that name, if this processor can run it. Throws std::invalid_argument if there is none.
const CodingKernels& coding_kernels(std::string_view name);
/// The fastest set.
const CodingKernels& coding_kernels();

}  // namespace straggler
