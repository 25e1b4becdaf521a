// A network with everything on its grid: post-training quantization of a trained one and its observed values.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/quantization/calibration.hpp"
#include "models/quantization/integer_inference.hpp"

namespace straggler {

struct QuantizationChoice {
  int weight_bits = 8, activation_bits = 8;
  GridScheme scheme = GridScheme::symmetric;
  bool per_channel = true;  // of weights: a grid for each output channel; values have one each
  RangeRule ranges = RangeRule::min_max;
  double percentile = 99.99;
};

/// A grid and its source.
struct ChosenGrid {
  Interval seen;  // smallest and largest number
  Grid grid;
};

struct QuantizedNetwork {
  std::vector<QuantizedProduct> products;             // [steps]; empty for others
  std::vector<std::vector<ChosenGrid>> weight_grids;  // [steps]: as products[].grids
  std::vector<std::optional<Grid>> grids;             // [values]; none for scores
  /// [values]: whether the grid was chosen for this value; a ReLU by itself and a max pool keep their input's.
  std::vector<bool> own_grid;
};

/// `seen`: from calibrate(). A bias has the scale of its weights times the input's, and takes at most 2^30 steps; if it would take more,
/// the channel's weights get a coarser grid.
QuantizedNetwork quantize(const InferenceNetwork& network, const std::vector<Histogram>& seen, const QuantizationChoice& choice);

/// The network with weights, or biases, or both rounded to their grids: for the simulation.
InferenceNetwork on_grids(const InferenceNetwork& network, const QuantizedNetwork& quantized, bool weights, bool biases);

/// Bytes of parameters: weights of `bits` packed without gaps with a scale (4 bytes) and, if affine, a zero point (1 byte) a grid, or in
/// fp32; biases of 4 bytes either way; a scale and a zero point (5 bytes) for each value with a grid of its own.
std::uint64_t model_bytes(const InferenceNetwork& network, const QuantizedNetwork& quantized, const QuantizationChoice& choice,
                          bool weights, bool activations);

}  // namespace straggler
