// The steps of post-training quantization, what they write, and model files that do not fit.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "models/kernels/precision.hpp"
#include "models/quantization/model_file.hpp"
#include "models/quantization/tables.hpp"
#include "models/safetensors/model_weights.hpp"
#include "models/zoo/multilayer_perceptron.hpp"
#include "models/zoo/panel_network.hpp"
#include "tests/quantization/support.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;
namespace fs = std::filesystem;

namespace {

/// Labels are the network's own in fp32: what changes is what quantization does.
struct Labelled {
  Trained trained;
  InferenceNetwork network;
  DataSplit test;
  std::vector<float> calibration;
};

Labelled labelled(Architecture architecture) {
  Labelled made{with_weights(std::move(architecture), 3), {}, {}, {}};
  made.network = inference_network(made.trained.architecture, made.trained.weights.data());
  const std::size_t features = made.network.input.size(), count = 600;
  const std::vector<float> inputs = uniform(count * features, -1, 1, 8);
  made.test.inputs = SampleInputs(SampleFloats(inputs.begin(), inputs.end()), features);
  made.calibration = uniform(100 * features, -1, 1, 9);
  FloatValues values;
  FloatInference(made.network, kernels()).run(inputs.data(), count, values);
  const std::vector<float>& scores = values.of[made.network.output];
  const std::size_t classes = scores.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = scores.begin() + static_cast<std::ptrdiff_t>(i * classes);
    made.test.labels.push_back(static_cast<std::int32_t>(std::max_element(row, row + static_cast<std::ptrdiff_t>(classes)) - row));
  }
  return made;
}

std::vector<std::string> names_of(const std::vector<StepResult>& steps) {
  std::vector<std::string> names;
  for (const StepResult& step : steps) names.push_back(step.step);
  return names;
}

class Folder : public TemporaryFolder {
 public:
  fs::path write(const TypedFile& file) const { return TemporaryFolder::write("model", safetensors_bytes(file)); }
};

template <class Number>
std::vector<Number> numbers_of(const TypedTensor& tensor) {
  std::vector<Number> values(tensor.elements());
  REQUIRE(tensor.bytes.size() == values.size() * sizeof(Number));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

}  // namespace

TEST_CASE("post-training: steps come in order, fewer bits cost more, and integers predict as their simulation does") {
  const Labelled data = labelled(residual_network());
  const PostTraining training(data.network, data.test, data.calibration, {kernels(), 2});
  CHECK(training.folded().accuracy == 1);
  CHECK(training.folded().changed == 0);
  double before = 0;
  for (const int bits : {8, 5, 2}) {
    const PostTraining::Outcome outcome = training.run({.weight_bits = bits, .activation_bits = bits}, {});
    CHECK(names_of(outcome.steps) == std::vector<std::string>{"weights", "activations", "biases", "integer"});
    const StepResult &last = outcome.steps[3], &simulated = outcome.steps[2];
    CHECK(last.changed <= 6);  // of 600: samples between two classes
    CHECK(std::abs(last.accuracy - simulated.accuracy) <= 0.01);
    CHECK(last.loss == doctest::Approx(simulated.loss).epsilon(0.01));
    CHECK(1 - last.accuracy >= before);
    if (bits == 8) CHECK(last.accuracy > 0.97);
    if (bits == 2) CHECK(last.accuracy < 0.9);
    before = 1 - last.accuracy;
  }
  const auto some = [&](const QuantizedParts& parts) { return names_of(training.run({}, parts).steps); };
  CHECK(some({true, false, false}) == std::vector<std::string>{"weights"});
  CHECK(some({false, true, false}) == std::vector<std::string>{"activations"});
  CHECK(some({false, true, true}) == std::vector<std::string>{"activations", "biases"});
}

TEST_CASE("post-training: results do not depend on threads") {
  const Labelled data = labelled(plain_network());
  const auto all = [&](unsigned threads) {
    const PostTraining training(data.network, data.test, data.calibration, {kernels(), threads});
    const QuantizationChoice choice{.weight_bits = 4, .ranges = RangeRule::mse};
    const std::vector<QuantizationRun> runs{{4, choice, training.run(choice, {})}};
    return steps_csv({training.folded()}, runs) + ranges_csv(data.network, training.seen(), runs, {}) +
           histograms_csv(activation_histograms(data.network, training.seen()));
  };
  const std::string one = all(1);
  CHECK(one == all(3));
  CHECK(one == all(8));
}

TEST_CASE("post-training: bytes are those of packed weights, scales, biases") {
  // 784-30-10: 23,820 weights and 40 biases; grids: a scale of 4 bytes a channel, 40 of them; 5 bytes for the input and one hidden value.
  const PanelNetwork model(multilayer_perceptron({784, 30, 10}), {kernels()});
  const Trained trained = with_weights(*model.architecture(), 1);
  const InferenceNetwork network = inference_network(trained.architecture, trained.weights.data());
  const auto seen = calibrate(FloatInference(network, kernels()), uniform(784, 0, 1, 2), 1, 1);
  const auto bytes = [&](const QuantizationChoice& choice, bool weights, bool activations) {
    return model_bytes(network, quantize(network, seen, choice), choice, weights, activations);
  };
  CHECK(bytes({}, false, false) == 4 * 23'860);
  CHECK(bytes({.weight_bits = 8}, true, false) == 23'820 + 4 * 40 + 4 * 40);
  CHECK(bytes({.weight_bits = 4}, true, true) == 23'820 / 2 + 4 * 40 + 4 * 40 + 10);
  CHECK(bytes({.weight_bits = 3, .scheme = GridScheme::affine, .per_channel = false}, true, true) ==
        23'520 * 3 / 8 + 113 + 2 * 5 + 4 * 40 + 10);  // 300 weights of 3 bits: 112.5 bytes
}

TEST_CASE("post-training: the model file holds the integers that the inference uses") {
  const Labelled data = labelled(residual_network());
  const PostTraining training(data.network, data.test, data.calibration, {kernels(), 1});
  const QuantizationChoice choice{.weight_bits = 5, .scheme = GridScheme::affine};
  const PostTraining::Outcome outcome = training.run(choice, {});
  const Folder folder;
  const TypedFile file = read_typed_safetensors(folder.write(quantized_file(data.network, outcome.quantized, choice, {})));
  std::map<std::string, TypedTensor> tensors;
  for (const TypedTensor& tensor : file.tensors) tensors[tensor.name] = tensor;
  const InferenceNetwork simulated = on_grids(data.network, outcome.quantized, true, true);
  for (std::size_t i = 0; i < simulated.steps.size(); ++i) {
    const InferenceStep& step = simulated.steps[i];
    if (step.kind != InferenceStep::Kind::product) continue;
    CAPTURE(step.name);
    const auto weights = numbers_of<std::int8_t>(tensors.at(step.tensors + ".weight"));
    const auto scales = numbers_of<float>(tensors.at(step.tensors + ".weight.scale"));
    const auto zeros = numbers_of<std::int32_t>(tensors.at(step.tensors + ".weight.zero_point"));
    const auto biases = numbers_of<std::int32_t>(tensors.at(step.tensors + ".bias"));
    REQUIRE(scales.size() == step.out.channels);
    REQUIRE(weights.size() == step.weight.size());
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const std::size_t c = k / step.patch();
      CHECK(scales[c] * static_cast<float>(weights[k] - zeros[c]) == step.weight[k]);
      CHECK((weights[k] >= -16 && weights[k] <= 15));
    }
    const float input_scale = outcome.quantized.grids[step.inputs[0]]->scale;
    for (std::size_t c = 0; c < biases.size(); ++c)
      CHECK(static_cast<double>(scales[c]) * static_cast<double>(input_scale) * biases[c] == doctest::Approx(step.bias[c]).epsilon(1e-6));
  }
  CHECK(tensors.at("conv1.weight").shape == std::vector<std::size_t>{5, 2, 3, 3});
  CHECK(tensors.at("fc2.weight").shape == std::vector<std::size_t>{4, 11});
  CHECK(tensors.count("bn1.weight") == 0);
  CHECK(numbers_of<float>(tensors.at("input.scale"))[0] == outcome.quantized.grids[0]->scale);
  CHECK(tensors.count("fc2.output.scale") == 0);  // scores are on no grid
  CHECK(file.metadata.at("weight_bits") == "5");
  // Weights alone: the rest stays fp32.
  const TypedFile part = quantized_file(data.network, outcome.quantized, choice, {true, false, false});
  for (const TypedTensor& tensor : part.tensors) {
    if (tensor.name == "fc1.bias") CHECK(tensor.type == NumberType::f32);
    if (tensor.name == "fc1.weight") CHECK(tensor.type == NumberType::i8);
    CHECK(tensor.name != "input.scale");
  }
}

TEST_CASE("post-training: tables have a row a step, a grid, a bin") {
  const Labelled data = labelled(plain_network());
  const PostTraining training(data.network, data.test, data.calibration, {kernels(), 1});
  std::vector<QuantizationRun> runs;
  for (const int bits : {8, 4}) {
    const QuantizationChoice choice{.weight_bits = bits, .activation_bits = bits, .per_channel = bits == 8};
    runs.push_back({bits, choice, training.run(choice, {})});
  }
  const std::string steps = steps_csv({training.folded()}, runs);
  CHECK(count(steps, "\n") == 1 + 1 + 2 * 4);
  CHECK(steps.find("\nweights,4,4,32,symmetric,tensor,min_max,1,") != std::string::npos);  // before it: fp32, not 8 bits
  CHECK(steps.find("\ninteger,8,8,8,symmetric,channel,min_max,") != std::string::npos);
  // 4 + 7 + 13 + 5 channels or 4 tensors, and the input, two convolutions, an average pool and a hidden layer.
  CHECK(count(ranges_csv(data.network, training.seen(), runs, {}), "\n") == 1 + 29 + 4 + 2 * 5);
  const std::vector<NamedHistogram> weights = weight_histograms(data.network);
  REQUIRE(weights.size() == 4);
  std::uint64_t counted = 0;
  for (const std::uint64_t count : weights[1].histogram.counts) counted += count;
  CHECK(counted == data.network.steps[2].weight.size());
  CHECK(count(histograms_csv(weights), "\n") == 1 + 4 * shown_bins);
  for (const NamedHistogram& each : activation_histograms(data.network, training.seen())) {
    std::uint64_t values = 0;
    for (const std::uint64_t count : each.histogram.counts) values += count;
    CHECK(values % 100 == 0);  // of 100 samples
    CHECK(values > 0);
  }
}

TEST_CASE("trained weights: F32 and F16 are read, tensors that do not fit the model are named") {
  const Folder folder;
  const PanelNetwork model(multilayer_perceptron({3, 2, 2}), {kernels()});
  std::vector<float> weights(model.length());
  model.initialize(4, weights.data());
  const auto file_of = [&] {
    TypedFile file;
    for (const TensorInfo& tensor : model.tensors()) {
      std::size_t count = 1;
      for (const std::size_t size : tensor.shape) count *= size;
      file.tensors.push_back(tensor_of(tensor.name, tensor.shape, std::span<const float>(weights).subspan(tensor.offset, count)));
    }
    return file;
  };
  CHECK(read_trained_weights(folder.write(file_of()), model) == weights);
  TypedFile half = file_of();
  for (TypedTensor& tensor : half.tensors) {
    std::string bytes;
    for (const float x : tensor.floats()) {
      const std::uint16_t bits = to_fp16(x);
      bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
    }
    tensor.type = NumberType::f16;
    tensor.bytes = bytes;
  }
  std::vector<float> rounded(weights.size());
  round_to(Precision::fp16, weights.size(), weights.data(), rounded.data());
  CHECK(read_trained_weights(folder.write(half), model) == rounded);

  const auto refused = [&](const TypedFile& file) -> std::string {
    const fs::path path = folder.write(file);
    try {
      read_trained_weights(path, model);
    } catch (const DataError& error) {
      CHECK(std::string(error.what()).starts_with(path.string() + ": "));
      return error.what();
    }
    return "";
  };
  TypedFile file = file_of();
  file.tensors.erase(file.tensors.begin() + 1);
  CHECK(refused(file).find("has no tensor '0.bias' of shape [2], which the model has") != std::string::npos);
  file = file_of();
  file.tensors[2] = tensor_of("2.weight", {4, 1}, std::span<const float>(weights).first(4));
  CHECK(refused(file).find("'2.weight' has shape [4, 1], the model's has [2, 2]") != std::string::npos);
  file = file_of();
  file.tensors.push_back(tensor_of("4.weight", {1}, std::span<const float>(weights).first(1)));
  CHECK(refused(file).find("has a tensor '4.weight' of shape [1], which the model has not") != std::string::npos);
  file = file_of();
  const std::vector<std::int32_t> integers(2);
  file.tensors[1] = tensor_of("0.bias", {2}, std::span<const std::int32_t>(integers));
  CHECK(refused(file).find("'0.bias' has type I32") != std::string::npos);
  file = file_of();
  const std::vector<float> diverged{1, std::nanf("")};
  file.tensors[1] = tensor_of("0.bias", {2}, std::span<const float>(diverged));
  CHECK(refused(file).find("'0.bias' holds numbers that are not finite") != std::string::npos);
}

TEST_CASE("calibration: a network that diverges on the samples is refused") {
  Labelled data = labelled(plain_network());
  data.network.steps[0].weight[0] = 1e30f;
  data.network.steps[2].weight.assign(data.network.steps[2].weight.size(), 1e30f);
  CHECK_THROWS_WITH_AS(calibrate(FloatInference(data.network, kernels()), data.calibration, 100, 2),
                       doctest::Contains("is not finite on the calibration samples"), std::invalid_argument);
}
