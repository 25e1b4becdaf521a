// Numbers on a grid: real = scale (q - zero), q an integer of `bits` bits (Jacob et al., Quantization and Training of Neural Networks
// for Efficient Integer-Arithmetic-Only Inference, CVPR 2018, equation 1). A real number is rounded to the nearest point, ties to the even
// multiple of the scale, and is clamped to the ends of the grid.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace straggler {

/// symmetric: zero lies at the middle of the grid (at its lower end for activations that are never negative). affine: anywhere.
enum class GridScheme { symmetric, affine };
/// Weights are signed (int8), activations unsigned (uint8); a symmetric grid for activations of both signs has its zero at 2^(bits-1).
enum class GridRole { weights, activations };

inline constexpr int least_bits = 2, most_bits = 8;

struct Grid {
  float scale = 1;
  std::int32_t zero = 0, low = -127, high = 127;  // low <= q <= high, low <= zero <= high

  std::int32_t quantize(float x) const;
  float dequantize(std::int32_t q) const { return scale * static_cast<float>(q - zero); }
  /// The nearest point of the grid.
  float nearest(float x) const { return dequantize(quantize(x)); }
  bool operator==(const Grid&) const = default;
};

/// x / scale, rounded to even and clamped to [low, high] - zero; NaN becomes the lower end. For loops over many numbers: `inverse` is
/// 1 / scale.
inline float steps_from_zero(float x, float inverse, float least, float most) {
  // Adding 1.5 · 2^23 leaves no fraction bits, so the addition itself rounds (to even); |steps| < 2^22 always.
  constexpr float shift = 12582912.0f;
  float steps = x * inverse;
  steps = steps > least ? steps : least;
  steps = steps < most ? steps : most;
  return (steps + shift) - shift;
}

inline std::int32_t Grid::quantize(float x) const {
  const auto least = static_cast<float>(low - zero), most = static_cast<float>(high - zero);
  return static_cast<std::int32_t>(steps_from_zero(x, 1 / scale, least, most)) + zero;
}

/// x[i] = the nearest point of the grid.
void round_to_grid(const Grid& grid, std::span<float> x);

struct Interval {
  float low = 0, high = 0;
  bool operator==(const Interval&) const = default;
};

/// The grid of this many bits that covers the range (and 0, as padding and ReLU need it: equation 1 represents 0 exactly): any x in it lies
/// at most scale / 2 from its point. A range of zero width gets scale 1.
Grid grid_over(const Interval& range, int bits, GridScheme scheme, GridRole role);

/// The part of the observed range that a grid covers.
enum class RangeRule {
  min_max,     // all of it
  percentile,  // all except a share of the numbers at either end
  mse,         // the part whose grid has the least mean squared error of clipping and rounding
};

struct RangeChoice {
  RangeRule rule = RangeRule::min_max;
  double percentile = 99.99;  // of the numbers that are no larger (smaller) than the upper (lower) end
  GridScheme scheme = GridScheme::symmetric;
  GridRole role = GridRole::activations;
  int bits = 8;
};

/// `values`, ascending, each seen counts[i] times (once, if `counts` is empty), all within `seen`.
Interval choose_range(const RangeChoice& choice, const Interval& seen, std::span<const float> values,
                      std::span<const std::uint64_t> counts = {});

}  // namespace straggler
