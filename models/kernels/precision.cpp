#include "models/kernels/precision.hpp"

#include <algorithm>
#include <bit>

namespace straggler {

std::uint16_t to_fp16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t size = bits & 0x7FFFFFFFu;
  if (size > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u | (size >> 13 & 0x3FFu));  // NaN: quiet, as processors do
  if (size >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);                         // 65,520 and more
  // Keeps `size` without its last `drop` bits; below 2^-14 a number loses one more bit per power of two.
  std::uint32_t value = size - 0x38000000u, drop = 13;  // the exponents' biases differ by 112
  if (size < 0x38800000u) {
    drop = 126 - (size >> 23);
    if (drop > 24) return sign;  // below half of the least subnormal number
    value = (size & 0x7FFFFFu) | 0x800000u;
  }
  const std::uint32_t kept = value >> drop, rest = value & ((1u << drop) - 1), half = 1u << (drop - 1);
  return static_cast<std::uint16_t>(sign | (kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0)));
}

float from_fp16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16, size = bits & 0x7FFFu;
  if (size >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | (size & 0x3FFu) << 13);
  if (size >= 0x0400u) return std::bit_cast<float>(sign | ((size << 13) + 0x38000000u));
  const float subnormal = static_cast<float>(size) * 0x1p-24f;
  return sign ? -subnormal : subnormal;
}

std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);  // NaN stays NaN
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

void round_to(Precision precision, std::size_t n, const float* x, float* out) {
  switch (precision) {
    case Precision::fp32:
      if (x != out) std::copy_n(x, n, out);
      return;
    case Precision::fp16:
      for (std::size_t i = 0; i < n; ++i) out[i] = from_fp16(to_fp16(x[i]));
      return;
    case Precision::bf16:
      for (std::size_t i = 0; i < n; ++i) out[i] = from_bf16(to_bf16(x[i]));
      return;
  }
}

}  // namespace straggler
