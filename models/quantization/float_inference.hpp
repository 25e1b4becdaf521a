// Inference in fp32, and the simulation of quantized inference: the same network with weights and biases on their grids, whose values are
// rounded to grids as they appear ("fake quantization").
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "models/quantization/grid.hpp"
#include "models/quantization/inference_network.hpp"
#include "models/quantization/patches.hpp"

namespace straggler {

/// The memory of one thread: every value of the network for a block of samples, [samples][channels][height][width].
struct FloatValues {
  std::vector<std::vector<float>> of;  // [values]
  std::vector<float> padded, patches, sums;
};

class FloatInference {
 public:
  /// `grids`: [values], none if a value is not rounded; empty: none is. The network outlives this.
  FloatInference(const InferenceNetwork& network, const Kernels& kernels, std::vector<std::optional<Grid>> grids = {});
  /// Fills values.of from inputs[samples][features].
  void run(const float* inputs, std::size_t samples, FloatValues& values) const;
  const InferenceNetwork& network() const { return network_; }

 private:
  void step(std::size_t index, std::size_t samples, FloatValues& values) const;
  void product(const InferenceStep& step, const Patches& patches, std::size_t samples, FloatValues& values, float* out) const;

  const InferenceNetwork& network_;
  const Kernels& kernels_;
  std::vector<std::optional<Grid>> grids_;
  std::vector<std::optional<Patches>> patches_;  // [steps], of products
};

/// -log softmax at the label, summed; and the number of rows with the largest score at their label (ties: the first).
struct Score {
  double loss = 0;
  std::uint64_t correct = 0;
};
/// scores[samples][classes]; `predicted`, if not null: [samples], the class with the largest score.
Score score(const float* scores, std::size_t samples, std::size_t classes, const std::int32_t* labels, std::int32_t* predicted = nullptr);

/// Samples per pass through a network: enough to fill the panels of small layers, within 32 MiB.
std::size_t block_samples(const InferenceNetwork& network);

}  // namespace straggler
