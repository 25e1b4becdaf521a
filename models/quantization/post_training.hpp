// Post-training quantization of a trained network, step by step, with the loss of accuracy on the test set at each step.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/data/dataset.hpp"
#include "models/quantization/quantized_network.hpp"

namespace straggler {

class Model;

/// The quantized parts; with all three, integer inference follows.
struct QuantizedParts {
  bool weights = true, activations = true, biases = true;
};

struct StepResult {
  std::string step;  // "fp32", "folded", "weights", "activations", "biases", "integer"
  double loss = 0, accuracy = 0;
  std::uint64_t bytes = 0;    // of the model's parameters
  std::uint64_t changed = 0;  // test samples whose predicted class differs from the step before
};

/// The trained network and its calibration: the start of every choice of bits.
class PostTraining {
 public:
  struct Setting {
    const Kernels& kernels;
    unsigned threads = 1;
  };
  /// `network` and `test` outlive this. Throws std::invalid_argument where a value of the network is not finite.
  PostTraining(const InferenceNetwork& network, const DataSplit& test, std::span<const float> calibration_inputs, const Setting& setting);

  const InferenceNetwork& network() const { return network_; }
  const std::vector<Histogram>& seen() const { return seen_; }  // [values]
  /// The network with batch norms folded, in fp32.
  const StepResult& folded() const { return folded_; }

  struct Outcome {
    QuantizedNetwork quantized;
    std::vector<StepResult> steps;
  };
  /// Weights first, then activations, then biases, each on top of the ones before; then integers alone. Throws std::invalid_argument.
  Outcome run(const QuantizationChoice& choice, const QuantizedParts& parts) const;

 private:
  struct Evaluated {
    StepResult result;
    std::vector<std::int32_t> classes;  // [test samples]: predicted
  };
  Evaluated evaluate(const char* step, const FloatInference& inference) const;
  Evaluated evaluate(const char* step, const IntegerInference& inference) const;
  template <class State, class Run>
  Evaluated evaluate_blocks(const char* step, const Run& run) const;

  const InferenceNetwork& network_;
  const DataSplit& test_;
  const Setting setting_;
  std::vector<Histogram> seen_;
  StepResult folded_;
  std::vector<std::int32_t> folded_classes_;
};

/// Loss and accuracy of the unquantized model, by its own engine.
StepResult evaluate_model(const Model& model, const float* weights, const DataSplit& test, unsigned threads);

}  // namespace straggler
