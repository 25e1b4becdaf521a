// The ranges and histograms of a network's values on some samples, from which grids are chosen.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "models/quantization/float_inference.hpp"
#include "models/quantization/grid.hpp"

namespace straggler {

/// Numbers counted in bins of equal width over their range.
struct Histogram {
  Interval range;
  std::vector<std::uint64_t> counts;  // [bins]

  float edge(std::size_t bin) const;  // lower edge; edge(bins) is the upper end
  /// The representative of a bin: its middle, or 0 if the bin contains it (after a ReLU most numbers are 0).
  std::vector<float> representatives() const;
  /// Neighbouring bins merged into this many; the number of bins is a multiple of it.
  Histogram coarser(std::size_t bins) const;
};

inline constexpr std::size_t fine_bins = 2048, shown_bins = 64;

Interval range_of(std::span<const float> values);
Histogram histogram_of(std::span<const float> values, std::size_t bins);

/// For every value of the network, over samples of the training data, in two passes: ranges first, then counts. Throws
/// std::invalid_argument if a value is infinite or NaN.
std::vector<Histogram> calibrate(const FloatInference& inference, std::span<const float> inputs, std::size_t samples, unsigned threads);

}  // namespace straggler
