// A sum of integer products times a real factor, in integers alone: the factor is M = factor · 2^-shift with a factor of 31 bits, so one
// 64-bit multiplication and one rounding shift remain (Jacob et al. 2018, section 2.2; rounded once, to nearest, ties to even, where
// gemmlowp rounds twice).
#pragma once
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace straggler {

struct Multiplier {
  std::int32_t factor = 0;  // 0, or 2^30 <= factor < 2^31
  int shift = 1;            // 1 to 62
  double value() const { return std::ldexp(static_cast<double>(factor), -shift); }
};

/// The nearest one to `real` >= 0: relative error at most 2^-31. Below 2^-32 it is 0, as every 32-bit number times `real` then rounds to 0.
/// Throws std::invalid_argument from 2^29 on.
inline Multiplier multiplier_of(double real) {
  if (!(real >= 0 && real < 0x1p29))
    throw std::invalid_argument("a factor of " + std::to_string(real) + " between two scales is too large");
  if (real < 0x1p-32) return {};
  int exponent = 0;
  const double fraction = std::frexp(real, &exponent);  // in [1/2, 1)
  const auto factor = static_cast<std::int64_t>(std::nearbyint(std::ldexp(fraction, 31)));
  if (factor == std::int64_t{1} << 31) return {1 << 30, 30 - exponent};
  return {static_cast<std::int32_t>(factor), 31 - exponent};
}

/// x / 2^shift to the nearest integer, ties to even; |x| < 2^62, 1 <= shift <= 62.
inline std::int64_t rounded_shift(std::int64_t x, int shift) {
  const std::int64_t below_half = (std::int64_t{1} << (shift - 1)) - 1;
  return (x + below_half + ((x >> shift) & 1)) >> shift;
}

inline std::int64_t requantize(std::int32_t sum, const Multiplier& by) {
  return rounded_shift(static_cast<std::int64_t>(sum) * by.factor, by.shift);
}

}  // namespace straggler
