#include "models/quantization/post_training.hpp"

#include <utility>

#include "models/data/blocks.hpp"
#include "models/zoo/model.hpp"

namespace straggler {
namespace {

StepResult mean_of(const char* step, const std::vector<Score>& blocks, std::size_t samples) {
  StepResult result;
  result.step = step;
  std::uint64_t correct = 0;
  for (const Score& block : blocks) {
    result.loss += block.loss;
    correct += block.correct;
  }
  result.loss /= static_cast<double>(samples);
  result.accuracy = static_cast<double>(correct) / static_cast<double>(samples);
  return result;
}

std::uint64_t unlike(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

struct IntegerState {
  IntegerValues values;
  std::vector<float> scores;
};

}  // namespace

PostTraining::PostTraining(const InferenceNetwork& network, const DataSplit& test, std::span<const float> calibration_inputs,
                           const Setting& setting)
    : network_(network), test_(test), setting_(setting) {
  const FloatInference inference(network, setting.kernels);
  seen_ = calibrate(inference, calibration_inputs, calibration_inputs.size() / network.input.size(), setting.threads);
  Evaluated evaluated = evaluate("folded", inference);
  folded_ = std::move(evaluated.result);
  folded_classes_ = std::move(evaluated.classes);
  for (const InferenceStep& step : network.steps) folded_.bytes += 4 * (step.weight.size() + step.bias.size());
}

template <class State, class Run>
PostTraining::Evaluated PostTraining::evaluate_blocks(const char* step, const Run& run) const {
  const std::size_t classes = network_.shape(network_.output).size(), size = block_samples(network_);
  Evaluated evaluated;
  evaluated.classes.resize(test_.count());
  std::vector<Score> blocks((test_.count() + size - 1) / size);
  for_blocks(test_.count(), size, setting_.threads, State{}, [&](State& state, std::size_t block, std::size_t first, std::size_t rows) {
    std::vector<float> room(rows * test_.inputs.features());
    const std::vector<float>& scores = run(state, test_.inputs.rows(first, rows, room.data()), rows);
    blocks[block] = score(scores.data(), rows, classes, test_.labels.data() + first, evaluated.classes.data() + first);
  });
  evaluated.result = mean_of(step, blocks, test_.count());
  return evaluated;
}

PostTraining::Evaluated PostTraining::evaluate(const char* step, const FloatInference& inference) const {
  return evaluate_blocks<FloatValues>(step, [&](FloatValues& values, const float* inputs, std::size_t rows) -> const std::vector<float>& {
    inference.run(inputs, rows, values);
    return values.of[network_.output];
  });
}

PostTraining::Evaluated PostTraining::evaluate(const char* step, const IntegerInference& inference) const {
  return evaluate_blocks<IntegerState>(step, [&](IntegerState& state, const float* inputs, std::size_t rows) -> const std::vector<float>& {
    inference.run(inputs, rows, state.values);
    inference.output(state.values, rows, state.scores);
    return state.scores;
  });
}

PostTraining::Outcome PostTraining::run(const QuantizationChoice& choice, const QuantizedParts& parts) const {
  Outcome outcome{quantize(network_, seen_, choice), {}};
  const QuantizedNetwork& quantized = outcome.quantized;
  std::vector<std::int32_t> before = folded_classes_;
  QuantizedParts done{false, false, false};
  const auto add = [&](Evaluated&& evaluated) {
    evaluated.result.bytes = model_bytes(network_, quantized, choice, done.weights, done.activations);
    evaluated.result.changed = unlike(evaluated.classes, before);
    before = std::move(evaluated.classes);
    outcome.steps.push_back(std::move(evaluated.result));
  };
  const auto simulate = [&](const char* step) {
    const InferenceNetwork simulated = on_grids(network_, quantized, done.weights, done.biases);
    add(evaluate(step,
                 FloatInference(simulated, setting_.kernels, done.activations ? quantized.grids : std::vector<std::optional<Grid>>{})));
  };
  if (parts.weights) {
    done.weights = true;
    simulate("weights");
  }
  if (parts.activations) {
    done.activations = true;
    simulate("activations");
  }
  if (parts.biases) {
    done.biases = true;
    simulate("biases");
  }
  if (parts.weights && parts.activations && parts.biases)
    add(evaluate("integer", IntegerInference(network_, setting_.kernels, quantized.products, quantized.grids)));
  return outcome;
}

StepResult evaluate_model(const Model& model, const float* weights, const DataSplit& test, unsigned threads) {
  constexpr std::size_t rows_at_once = 256;
  std::vector<Score> blocks((test.count() + rows_at_once - 1) / rows_at_once);
  for_blocks(test.count(), rows_at_once, threads, std::shared_ptr<Workspace>(),
             [&](std::shared_ptr<Workspace>& workspace, std::size_t block, std::size_t first, std::size_t count) {
               if (!workspace) workspace = model.workspace();
               Rows rows;
               rows.count = count;
               std::vector<float> room(count * test.inputs.features());
               rows.inputs = test.inputs.rows(first, count, room.data());
               rows.labels = test.labels.data() + first;
               blocks[block].loss = model.evaluate(weights, rows, blocks[block].correct, *workspace);
             });
  StepResult result = mean_of("fp32", blocks, test.count());
  result.bytes = 4 * model.length();
  return result;
}

}  // namespace straggler
