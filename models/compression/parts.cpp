#include "models/compression/parts.hpp"

namespace straggler::compression {

namespace {

/// On bits without the sign: floats are ordered as their bits are.
STRAGGLER_LANES std::uint32_t largest_finite(const float* values, std::size_t count) {
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t own = magnitude_of(values[i]), finite = own & all_if(own < not_finite);
    most = finite > most ? finite : most;
  }
  return most;
}

}  // namespace

float largest(std::span<const float> values) { return std::bit_cast<float>(largest_finite(values.data(), values.size())); }

void pack(std::span<const std::uint16_t> codes, unsigned bits, std::byte* to) {
  std::uint64_t word = 0;
  unsigned filled = 0;
  for (const std::uint16_t code : codes) {
    word |= static_cast<std::uint64_t>(code) << filled;
    filled += bits;
    if (filled < 32) continue;
    const auto whole = static_cast<std::uint32_t>(word);
    std::memcpy(to, &whole, sizeof whole);
    to += sizeof whole;
    word >>= 32;
    filled -= 32;
  }
  for (; filled > 0; filled -= std::min(filled, 8u), word >>= 8) *to++ = static_cast<std::byte>(word);
}

void unpack(const std::byte* from, unsigned bits, std::span<std::uint16_t> codes) {
  const std::byte* const end = from + bytes_of_bits(codes.size() * bits);
  const std::uint64_t mask = (1u << bits) - 1;
  std::uint64_t word = 0;
  unsigned filled = 0;
  for (std::uint16_t& code : codes) {
    if (filled < bits) {
      if (end - from >= 4) {
        std::uint32_t more = 0;
        std::memcpy(&more, from, sizeof more);
        from += sizeof more;
        word |= static_cast<std::uint64_t>(more) << filled;
        filled += 32;
      } else {
        for (; from < end; filled += 8) word |= static_cast<std::uint64_t>(*from++) << filled;
      }
    }
    code = static_cast<std::uint16_t>(word & mask);
    word >>= bits;
    filled -= bits;
  }
}

}  // namespace straggler::compression
