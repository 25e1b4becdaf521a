// How far a compressed file may unpack (decision 112).
#pragma once
#include <cstdint>

namespace straggler {

/// Above so many bytes a file may unpack to `most_unpacked` times its own size. Images and texts are compressed by less, and a few
/// megabytes could otherwise become gigabytes.
inline constexpr std::uintmax_t freely_unpacked = std::uintmax_t{64} << 20, most_unpacked = 50;

constexpr bool unpacks_too_far(std::uintmax_t packed, std::uintmax_t unpacked, std::uintmax_t freely = freely_unpacked) {
  return unpacked > freely && unpacked / most_unpacked > packed;
}

}  // namespace straggler
