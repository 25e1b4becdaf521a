// Inference in integers alone (Jacob et al. 2018, section 2): values are uint8, weights int8, biases and sums of products int32. After the
// input has been put on its grid there is no floating point.
//
// A product's sum over k of (q_w - z_w)(q_x - z_x), plus a bias on the grid of scale s_w s_x, times s_w s_x / s_y is the output's distance
// from its zero. A ReLU is a larger lower end, padding is the zero point. Pools keep or rescale, a sum of branches rescales each branch to
// the sum's grid, in 64 bits, and rounds once. The last product's sums are the scores: they are not rounded to a grid, only brought to
// one scale, in 32 bits: the largest of the channels', over the power of two (2^16 at most) that is sure to fit.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "models/quantization/grid.hpp"
#include "models/quantization/inference_network.hpp"
#include "models/quantization/patches.hpp"
#include "models/quantization/requantization.hpp"

namespace straggler {

/// Of one product.
struct QuantizedProduct {
  std::vector<Grid> grids;           // of the weights: one, or one an output channel
  std::vector<std::int8_t> weights;  // [out.channels][patch]
  std::vector<std::int32_t> biases;  // [out.channels], of scale grid(channel).scale times the input's
  const Grid& grid(std::size_t channel) const { return grids[grids.size() == 1 ? 0 : channel]; }
};

/// The memory of one thread.
struct IntegerValues {
  std::vector<std::vector<std::uint8_t>> of;  // [values]; not of the scores
  std::vector<std::int32_t> scores;           // [samples][classes], if the network's output is a product's sums
  std::vector<std::int16_t> padded, patches;
  std::vector<std::int32_t> sums;
};

class IntegerInference {
 public:
  /// `products`: [steps], of products; `grids`: [values], of all but the scores. The network outlives this. Throws std::invalid_argument
  /// where a sum could leave 32 bits.
  IntegerInference(const InferenceNetwork& network, const Kernels& kernels, const std::vector<QuantizedProduct>& products,
                   std::vector<std::optional<Grid>> grids);
  void run(const float* inputs, std::size_t samples, IntegerValues& values) const;
  /// The network's output as real numbers, [samples][output]: for a loss.
  void output(const IntegerValues& values, std::size_t samples, std::vector<float>& real) const;
  /// The real value of one unit of a score.
  double score_scale() const { return score_scale_; }
  /// A single step: from the values of its inputs to that of its output.
  void step(std::size_t index, std::size_t samples, IntegerValues& values) const;

 private:
  struct Made {
    std::optional<Patches> patches;
    std::vector<std::int16_t> weights;    // [out.channels][pairs][2], with zero points subtracted
    std::vector<std::int32_t> biases;     // [out.channels]
    std::vector<Multiplier> multipliers;  // product: [out.channels]; average pool: one
    std::vector<std::int64_t> factors;    // sum: [inputs], all of the same shift
    int shift = 1;
    bool makes_scores = false;
    std::int32_t zero = 0, least = 0, most = 0;  // of the output's grid; least: raised by a ReLU
  };
  Made make_product(const InferenceStep& step, const QuantizedProduct& product);
  void make_sum(const InferenceStep& step, ValueIndex value, Made& made) const;
  void product(const InferenceStep& step, const Made& made, std::size_t samples, IntegerValues& values, ValueIndex value) const;
  void sum(const InferenceStep& step, const Made& made, IntegerValues& values, ValueIndex value) const;
  void average_pool(const InferenceStep& step, const Made& made, std::size_t samples, IntegerValues& values, ValueIndex value) const;

  const InferenceNetwork& network_;
  const Kernels& kernels_;
  std::vector<std::optional<Grid>> grids_;
  std::vector<Made> made_;  // [steps]
  double score_scale_ = 1;
};

}  // namespace straggler
