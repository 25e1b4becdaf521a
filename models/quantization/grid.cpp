#include "models/quantization/grid.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace straggler {
namespace {

/// Ranges below this count as 0: their inverse scale would overflow.
constexpr float no_extent = 1e-30f;

Grid symmetric_grid(float reach, int bits, bool both_signs, GridRole role) {
  Grid grid;
  const std::int32_t half = (1 << (bits - 1)) - 1;
  if (role == GridRole::weights) {
    grid = {1, 0, -half, half};
  } else if (both_signs) {
    grid = {1, half + 1, 1, 2 * half + 1};
  } else {
    grid = {1, 0, 0, 2 * half + 1};
  }
  if (reach > no_extent) grid.scale = reach / static_cast<float>(grid.high - grid.zero);
  return grid;
}

Grid affine_grid(const Interval& range, int bits, GridRole role) {
  const std::int32_t low = role == GridRole::weights ? -(1 << (bits - 1)) : 0, high = low + (1 << bits) - 1;
  Grid grid{1, std::clamp(0, low, high), low, high};
  const float extent = range.high - range.low;
  if (!(extent > no_extent)) return grid;
  grid.scale = extent / static_cast<float>(high - low);
  grid.zero = std::clamp(low + static_cast<std::int32_t>(std::nearbyint(-range.low / grid.scale)), low, high);
  return grid;
}

struct Weighted {
  std::span<const float> values;
  std::span<const std::uint64_t> counts;
  std::uint64_t count(std::size_t i) const { return counts.empty() ? 1 : counts[i]; }
};

double squared_error(const Grid& grid, const Weighted& seen) {
  const float inverse = 1 / grid.scale;
  const auto least = static_cast<float>(grid.low - grid.zero), most = static_cast<float>(grid.high - grid.zero);
  double error = 0;
  for (std::size_t i = 0; i < seen.values.size(); ++i) {
    const float x = seen.values[i];
    const auto distance = static_cast<double>(x - grid.scale * steps_from_zero(x, inverse, least, most));
    error += static_cast<double>(seen.count(i)) * distance * distance;
  }
  return error;
}

Interval least_error(const RangeChoice& choice, const Interval& all, const Weighted& seen) {
  constexpr int parts = 100, fewest = 10;  // ends at 100 %, 99 %, … 10 % of the observed range
  Interval best = all;
  double least = -1;
  for (int part = parts; part >= fewest; --part) {
    const float share = static_cast<float>(part) / parts;
    const Interval range{all.low * share, all.high * share};
    const double error = squared_error(grid_over(range, choice.bits, choice.scheme, choice.role), seen);
    if (least >= 0 && error >= least) continue;
    least = error;
    best = range;
  }
  return best;
}

Interval without_tails(double percentile, const Weighted& seen) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < seen.values.size(); ++i) total += seen.count(i);
  const auto beyond = static_cast<std::uint64_t>(std::floor(static_cast<double>(total) * (1 - percentile / 100)));
  std::size_t low = 0, high = seen.values.size() - 1;
  for (std::uint64_t passed = seen.count(low); passed <= beyond && low < high; passed += seen.count(low)) ++low;
  for (std::uint64_t passed = seen.count(high); passed <= beyond && high > low; passed += seen.count(high)) --high;
  return {seen.values[low], seen.values[high]};
}

}  // namespace

void round_to_grid(const Grid& grid, std::span<float> x) {
  const float scale = grid.scale, inverse = 1 / scale;
  const auto least = static_cast<float>(grid.low - grid.zero), most = static_cast<float>(grid.high - grid.zero);
  for (float& value : x) value = scale * steps_from_zero(value, inverse, least, most);
}

Grid grid_over(const Interval& range, int bits, GridScheme scheme, GridRole role) {
  if (bits < least_bits || bits > most_bits) throw std::invalid_argument("a grid of " + std::to_string(bits) + " bits; choose from 2 to 8");
  const Interval with_zero{std::min(range.low, 0.0f), std::max(range.high, 0.0f)};
  if (scheme == GridScheme::affine) return affine_grid(with_zero, bits, role);
  return symmetric_grid(std::max(-with_zero.low, with_zero.high), bits, with_zero.low < 0, role);
}

Interval choose_range(const RangeChoice& choice, const Interval& seen, std::span<const float> values,
                      std::span<const std::uint64_t> counts) {
  if (values.empty() || choice.rule == RangeRule::min_max) return seen;
  if (choice.rule == RangeRule::mse) return least_error(choice, seen, {values, counts});
  return without_tails(choice.percentile, {values, counts});
}

}  // namespace straggler
