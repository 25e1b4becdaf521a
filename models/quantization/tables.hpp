// The results of a quantization, as CSV.
#pragma once
#include <string>
#include <vector>

#include "models/quantization/calibration.hpp"
#include "models/quantization/post_training.hpp"

namespace straggler {

/// One choice of bits and its result.
struct QuantizationRun {
  int bits = 8;  // as requested; weights or activations may have others
  QuantizationChoice choice;
  PostTraining::Outcome outcome;
};

/// quantization.csv: a row for each step; `unquantized`: the steps before any, in fp32.
std::string steps_csv(const std::vector<StepResult>& unquantized, const std::vector<QuantizationRun>& runs);

/// ranges.csv: a row for each grid that a run of these parts uses.
std::string ranges_csv(const InferenceNetwork& network, const std::vector<Histogram>& seen, const std::vector<QuantizationRun>& runs,
                       const QuantizedParts& parts);

struct NamedHistogram {
  std::string name;
  Histogram histogram;  // a few dozen bins
};

std::string histograms_csv(const std::vector<NamedHistogram>& histograms);

/// Of each product's weights (batch norm folded), and of each value that a step computes.
std::vector<NamedHistogram> weight_histograms(const InferenceNetwork& network);
std::vector<NamedHistogram> activation_histograms(const InferenceNetwork& network, const std::vector<Histogram>& seen);

}  // namespace straggler
