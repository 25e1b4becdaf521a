// Shared parts of the compressors' arithmetic and messages.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/compression/compressor.hpp"
#include "models/rules/elementwise.hpp"

// Loops over all parameters are compiled per instruction set. They give the same bits on all, because they sum nothing.
// Not under sanitizers: what chooses the set runs before their libraries begin.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STRAGGLER_LANES __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define STRAGGLER_LANES
#endif

namespace straggler::compression {

/// Writes v or v + e of the rule's inputs (v) or (v, e) to `out`, with v's registers.
inline void take_inputs(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, float* out) {
  if (inputs.size() > 1) {
    const float ones[] = {1.0f, 1.0f};
    kernels.weighted_sum(extent.n, 2, inputs.data(), ones, out);
  } else {
    std::copy_n(inputs[0], extent.n, out);
  }
  std::copy_n(inputs[0] + extent.own, extent.registers, out + extent.own);
}

/// Calls f(begin, end) for each tensor among n parameters; without named tensors they form one.
template <class F>
void for_each_tensor(std::span<const TensorInfo> tensors, std::size_t n, F f) {
  if (tensors.empty()) return f(std::size_t{0}, n);
  for (std::size_t t = 0; t < tensors.size(); ++t) f(tensors[t].offset, t + 1 < tensors.size() ? tensors[t + 1].offset : n);
}

/// Magnitude bits, without the sign, which order as the magnitudes do: infinities and NaN start here.
inline constexpr std::uint32_t not_finite = 0x7f800000u;
/// The NaN that compressed vectors hold for any NaN.
inline constexpr std::uint32_t quiet_nan = 0x7fc00000u;

inline std::uint32_t magnitude_of(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu; }

/// A mask: a branch would prevent vectorization of a loop.
inline std::uint32_t all_if(bool holds) { return 0u - static_cast<std::uint32_t>(holds); }

/// The largest finite magnitude; 0 if there is none.
float largest(std::span<const float> values);

/// Random bits of coordinate i in the given draw: a hash of both, so that they are available in any order. The finalizer is that of
/// MurmurHash3 (Appleby), with one half of the draw number before each of two rounds.
struct DrawnBits {
  explicit DrawnBits(double number) {
    const auto whole = static_cast<std::uint64_t>(number);
    low = static_cast<std::uint32_t>(whole);
    high = static_cast<std::uint32_t>(whole >> 32);
  }
  std::uint32_t operator()(std::uint32_t i) const { return mixed(mixed(i ^ low) ^ high); }
  /// Uniform in [0, 1), 24 bits.
  float uniform(std::uint32_t i) const { return static_cast<float>(static_cast<std::int32_t>((*this)(i) >> 8)) * 0x1p-24f; }

  std::uint32_t low, high;

 private:
  static std::uint32_t mixed(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
  }
};

inline std::uint64_t bytes_of_bits(std::uint64_t bits) { return (bits + 7) / 8; }

/// Packed codes of `bits` bits each, at most 16, from the lowest bit on; the unused bits of the last byte are 0. `to` and `from` have
/// bytes_of_bits(codes.size() * bits).
void pack(std::span<const std::uint16_t> codes, unsigned bits, std::byte* to);
void unpack(const std::byte* from, unsigned bits, std::span<std::uint16_t> codes);

/// Reads a message's parts in order. Throws std::logic_error beyond its end.
class Message {
 public:
  explicit Message(std::span<const std::byte> bytes) : bytes_(bytes) {}
  const std::byte* take(std::size_t count) {
    if (count > bytes_.size() - at_) throw std::logic_error("a compressed message that is shorter than it must be");
    return bytes_.data() + std::exchange(at_, at_ + count);
  }
  float take_float() {
    float value = 0;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  bool at_end() const { return at_ == bytes_.size(); }
  /// Throws std::logic_error if bytes remain.
  void end() const {
    if (!at_end()) throw std::logic_error("a compressed message that is longer than it must be");
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

inline void put_float(std::vector<std::byte>& message, float value) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
  message.insert(message.end(), bytes, bytes + sizeof value);
}

/// An encoder's error on a value that its rule cannot make.
[[noreturn]] inline void refuse_value(const char* compressor, std::size_t at) {
  throw std::logic_error("parameter " + std::to_string(at) + " of a gradient has a value that " + compressor + " does not make");
}

}  // namespace straggler::compression
