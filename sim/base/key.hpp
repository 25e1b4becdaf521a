// 128-bit keys: names for values that depend on nothing but what was hashed into them.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace straggler {

struct Key {
  std::uint64_t high = 0, low = 0;
  bool operator==(const Key&) const = default;
  auto operator<=>(const Key&) const = default;
  /// As 32 hexadecimal digits.
  std::string text() const;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept { return key.low; }
};

/// Hashes a sequence of words; order matters. Two lanes of multiply-xorshift (the finalizer of SplitMix64,
/// Steele et al. 2014) with different schedules; not for adversaries.
class Hasher {
 public:
  constexpr Hasher& add(std::uint64_t word) {
    a_ = mix(a_ ^ word);
    b_ = mix(b_ + word * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u);
    return *this;
  }
  Hasher& add(double value) { return add(std::bit_cast<std::uint64_t>(value)); }
  Hasher& add(const Key& key) { return add(key.high).add(key.low); }
  Hasher& add(std::string_view text);
  /// Hashes raw memory, for example a data set; `bytes` need not be a multiple of eight.
  Hasher& add_bytes(const void* data, std::size_t bytes);
  Key key() const { return {mix(a_), mix(b_)}; }

 private:
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  std::uint64_t a_ = 0x243F6A8885A308D3u, b_ = 0x13198A2E03707344u;
};

}  // namespace straggler
