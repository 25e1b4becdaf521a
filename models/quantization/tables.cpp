#include "models/quantization/tables.hpp"

#include <fmt/format.h>

#include <iterator>

#include "models/quantization/model_file.hpp"

namespace straggler {
namespace {

using Kind = InferenceStep::Kind;

/// Bits of fp32.
constexpr int unquantized_bits = 32;

std::string value_name(const InferenceNetwork& network, ValueIndex value) { return value == 0 ? "input" : network.steps[value - 1].name; }

struct RangeTable {
  std::string text = "bits,layer,tensor,channel,min,max,scale,zero_point,lowest,highest\n";

  void add(int bits, const std::string& layer, const char* tensor, const std::string& channel, const Interval& seen, const Grid& grid) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{}\n", bits, layer, tensor, channel, seen.low, seen.high,
                   grid.scale, grid.zero, grid.low, grid.high);
  }
};

}  // namespace

std::string steps_csv(const std::vector<StepResult>& unquantized, const std::vector<QuantizationRun>& runs) {
  std::string text =
      "step,bits,weight_bits,activation_bits,scheme,granularity,ranges,test_accuracy_before,test_accuracy,test_loss,changed_predictions,"
      "model_bytes\n";
  const auto to = std::back_inserter(text);
  double before = unquantized.front().accuracy;
  const auto add = [&](const StepResult& step, int bits, int weights, int activations, const char* scheme, const char* granularity,
                       const char* ranges) {
    fmt::format_to(to, "{},{},{},{},{},{},{},{},{},{},{},{}\n", step.step, bits, weights, activations, scheme, granularity, ranges, before,
                   step.accuracy, step.loss, step.changed, step.bytes);
    before = step.accuracy;
  };
  for (const StepResult& step : unquantized) add(step, unquantized_bits, unquantized_bits, unquantized_bits, "none", "none", "none");
  for (const QuantizationRun& run : runs) {
    before = unquantized.back().accuracy;
    int weights = unquantized_bits, activations = unquantized_bits;
    for (const StepResult& step : run.outcome.steps) {
      if (step.step == "weights") weights = run.choice.weight_bits;
      if (step.step == "activations") activations = run.choice.activation_bits;
      add(step, run.bits, weights, activations, name_of(run.choice.scheme), run.choice.per_channel ? "channel" : "tensor",
          name_of(run.choice.ranges));
    }
  }
  return text;
}

std::string ranges_csv(const InferenceNetwork& network, const std::vector<Histogram>& seen, const std::vector<QuantizationRun>& runs,
                       const QuantizedParts& parts) {
  RangeTable table;
  for (const QuantizationRun& run : runs) {
    const QuantizedNetwork& quantized = run.outcome.quantized;
    for (ValueIndex value = 0; value < network.values(); ++value) {
      const std::string name = value_name(network, value);
      if (value > 0 && parts.weights) {
        const std::vector<ChosenGrid>& grids = quantized.weight_grids[value - 1];
        for (std::size_t c = 0; c < grids.size(); ++c)
          table.add(run.bits, name, "weight", grids.size() == 1 && !run.choice.per_channel ? "" : std::to_string(c), grids[c].seen,
                    grids[c].grid);
      }
      if (parts.activations && quantized.own_grid[value])
        table.add(run.bits, name, "activation", "", seen[value].range, *quantized.grids[value]);
    }
  }
  return table.text;
}

std::string histograms_csv(const std::vector<NamedHistogram>& histograms) {
  std::string text = "layer,bin_low,bin_high,count\n";
  for (const NamedHistogram& each : histograms)
    for (std::size_t bin = 0; bin < each.histogram.counts.size(); ++bin)
      fmt::format_to(std::back_inserter(text), "{},{},{},{}\n", each.name, each.histogram.edge(bin), each.histogram.edge(bin + 1),
                     each.histogram.counts[bin]);
  return text;
}

std::vector<NamedHistogram> weight_histograms(const InferenceNetwork& network) {
  std::vector<NamedHistogram> all;
  for (const InferenceStep& step : network.steps)
    if (step.kind == Kind::product) all.push_back({step.name, histogram_of(step.weight, shown_bins)});
  return all;
}

std::vector<NamedHistogram> activation_histograms(const InferenceNetwork& network, const std::vector<Histogram>& seen) {
  std::vector<NamedHistogram> all;
  for (ValueIndex value = 0; value < network.values(); ++value)
    all.push_back({value_name(network, value), seen[value].coarser(shown_bins)});
  return all;
}

}  // namespace straggler
