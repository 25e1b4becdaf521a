// The network as inference sees it against the layers as they are defined, and integers against exact sums and the simulation.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "models/quantization/requantization.hpp"
#include "models/zoo/layer_list.hpp"
#include "sim/base/flow_reader.hpp"
#include "tests/quantization/support.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;
using Kind = InferenceStep::Kind;

namespace {

/// Where batch norms find no product that they alone read: behind a pool, behind a convolution with two readers, behind a ReLU; and two
/// ReLUs one after another, one behind a pool, grouped convolutions.
Architecture awkward_network() {
  ArchitectureBuilder build({4, 6, 6});
  const LayerIndex conv = build.conv(network_input, "c", 4, Window::square(3, 1, 1), true);
  const LayerIndex norm = build.batch_norm(conv, "n1");
  LayerIndex x = build.relu(build.add({conv, norm}));
  x = build.relu(build.max_pool(build.batch_norm(x, "n2"), Window::square(2, 2)));
  x = build.relu(build.relu(x));
  x = build.flatten(build.batch_norm(build.average_pool(x, Window::square(3, 2, 1)), "n3"));
  build.linear(x, "fc", 3);
  return std::move(build).build();
}

/// A convolution whose every output channel sees a group of the input's, as the shape of its weight says.
Architecture grouped_network() {
  ArchitectureBuilder build({6, 5, 5});
  build.linear(build.flatten(build.relu(build.conv(network_input, "g", 4, Window::square(3, 1, 1), true))), "fc", 3);
  Architecture made = std::move(build).build();
  made.layers[0].tensors[0].shape = {4, 3, 3, 3};
  return made;
}

void check_against_definition(const Architecture& architecture, std::uint64_t seed) {
  const Trained trained = with_weights(architecture, seed);
  const InferenceNetwork network = inference_network(trained.architecture, trained.weights.data());
  const FloatInference inference(network, kernels());
  constexpr std::size_t samples = 5;
  const std::vector<float> inputs = uniform(samples * architecture.input.size(), -1, 1, seed + 1);
  FloatValues values;
  inference.run(inputs.data(), samples, values);
  const std::vector<float>& output = values.of[network.output];
  const std::size_t size = network.shape(network.output).size();
  REQUIRE(output.size() == samples * size);
  for (std::size_t s = 0; s < samples; ++s) {
    const auto first = inputs.begin() + static_cast<std::ptrdiff_t>(s * architecture.input.size());
    const std::vector<double> expected = forward(trained, {first, first + static_cast<std::ptrdiff_t>(architecture.input.size())}).back();
    double norm = 0;
    for (const double each : expected) norm = std::max(norm, std::abs(each));
    for (std::size_t i = 0; i < size; ++i) CHECK(std::abs(static_cast<double>(output[s * size + i]) - expected[i]) <= 2e-5 * norm);
  }
}

struct Quantized {
  Trained trained;
  InferenceNetwork network;
  std::vector<float> inputs;
  std::size_t samples = 6;
  QuantizedNetwork quantized;
};

Quantized quantized(const Architecture& architecture, const QuantizationChoice& choice, std::uint64_t seed) {
  Quantized made{with_weights(architecture, seed), {}, {}, 6, {}};
  made.network = inference_network(made.trained.architecture, made.trained.weights.data());
  made.inputs = uniform(made.samples * architecture.input.size(), -1.5, 1, seed + 1);
  const std::vector<float> others = uniform(20 * architecture.input.size(), -1.5, 1, seed + 2);
  made.quantized = quantize(made.network, calibrate(FloatInference(made.network, kernels()), others, 20, 2), choice);
  return made;
}

std::vector<QuantizationChoice> choices() {
  std::vector<QuantizationChoice> all;
  for (const GridScheme scheme : {GridScheme::symmetric, GridScheme::affine})
    for (const bool per_channel : {true, false})
      for (const auto& [weight_bits, activation_bits] : {std::pair{8, 8}, {4, 6}, {2, 2}})
        all.push_back({weight_bits, activation_bits, scheme, per_channel, RangeRule::min_max, 99.99});
  return all;
}

/// One output of a step in exact integers: the sum that rounding then brings to the output's grid, and the real factor between them.
struct Exact {
  std::int64_t sum = 0;
  double real = 0;     // the distance from the output's zero before rounding, in double
  double blur = 1e-9;  // what fixed-point factors may be off by
};

class Reference {
 public:
  Reference(const Quantized& made, const IntegerValues& values) : made_(made), values_(values) {}

  double scale(ValueIndex value) const { return static_cast<double>(made_.quantized.grids[value]->scale); }
  std::int64_t distance(ValueIndex value, std::size_t at) const { return values_.of[value][at] - made_.quantized.grids[value]->zero; }

  Exact product(std::size_t index, std::size_t sample, std::size_t o, std::size_t y, std::size_t x, double out_scale) const {
    const InferenceStep& step = made_.network.steps[index];
    const QuantizedProduct& product = made_.quantized.products[index];
    const ValueIndex in = step.inputs[0];
    const std::size_t per_group = step.in.channels / step.groups, group = o / (step.out.channels / step.groups);
    Exact exact;
    exact.sum = product.biases[o];
    std::size_t k = o * step.patch();
    for (std::size_t c = 0; c < per_group; ++c)
      for (std::size_t i = 0; i < step.window.height; ++i)
        for (std::size_t j = 0; j < step.window.width; ++j, ++k) {
          const std::size_t row = y * step.window.stride + i, column = x * step.window.stride + j;
          if (row < step.window.pad_height || column < step.window.pad_width) continue;
          if (row - step.window.pad_height >= step.in.height || column - step.window.pad_width >= step.in.width) continue;
          const std::size_t at =
              ((sample * step.in.channels + group * per_group + c) * step.in.height + row - step.window.pad_height) * step.in.width +
              column - step.window.pad_width;
          exact.sum += (product.weights[k] - product.grid(o).zero) * distance(in, at);
        }
    exact.real = static_cast<double>(exact.sum) * (static_cast<double>(product.grid(o).scale) * scale(in) / out_scale);
    exact.blur += std::abs(exact.real) * 0x1p-31;
    return exact;
  }

 private:
  const Quantized& made_;
  const IntegerValues& values_;
};

/// The rounded and clamped value is the real one's nearest integer, unless that lies within `blur` of a tie.
bool agrees(std::int64_t got, const Exact& exact, double least, double most) {
  const auto clamped = [&](double x) { return std::clamp(x, least, most); };
  return static_cast<double>(got) >= clamped(std::nearbyint(exact.real - exact.blur)) &&
         static_cast<double>(got) <= clamped(std::nearbyint(exact.real + exact.blur));
}

}  // namespace

TEST_CASE("inference network: folded batch norms, fused ReLUs and dropped layers compute what the layers do") {
  check_against_definition(residual_network(), 1);
  check_against_definition(plain_network(), 2);
  check_against_definition(awkward_network(), 3);
  check_against_definition(grouped_network(), 4);
  const Trained trained = with_weights(residual_network(), 1);
  const InferenceNetwork network = inference_network(trained.architecture, trained.weights.data());
  // Four convolutions, two linear layers, two pools and a sum: batch norms, ReLUs, flatten and dropout are gone.
  CHECK(network.steps.size() == 9);
  CHECK(network.had_batch_norm);
  REQUIRE(network.scores());
  CHECK(network.scores()->name == "fc2");
  CHECK(network.steps[0].rectified);
}

TEST_CASE("inference network: layers without a counterpart are named") {
  ArchitectureBuilder build({3, 4, 4});
  build.tanh(build.conv(network_input, "conv1", 2, Window::square(3), true));
  const Trained trained = with_weights(std::move(build).build(), 1);
  CHECK_THROWS_WITH_AS(inference_network(trained.architecture, trained.weights.data()),
                       doctest::Contains("'conv1.tanh' cannot be quantized; known are convolutions"), std::invalid_argument);
  CHECK_THROWS_AS(inference_network({{1, 1, 1}, {}}, nullptr), std::invalid_argument);
}

TEST_CASE("a list with a layer that inference lacks is refused by that layer's name") {
  const auto refused = [](const std::string& odd) {
    const Nested lines = read_flow("[{linear: 3, name: first}, " + odd + ", flatten, {linear: 2}]");
    const Trained trained = with_weights(architecture_of(lines, {{3, 4, 1}}), 1);
    return error_of<std::invalid_argument>([&] { inference_network(trained.architecture, trained.weights.data()); });
  };
  CHECK(refused("relu") == "");
  for (const char* const odd : {"{gelu: tanh, name: odd}", "{silu: {}, name: odd}", "{layer_norm: {}, name: odd}",
                                "{rms_norm: {}, name: odd}", "{attention: 1, name: odd}", "{concat: [first, input], name: odd}"}) {
    CAPTURE(odd);
    CHECK(has(refused(odd), "its layer 'odd' cannot be quantized; known are convolutions"));
  }
  CHECK(has(refused("{linear: 3, tied: first, name: odd}"), "its layer 'odd' shares the weight of 'first' and cannot be quantized"));
}

TEST_CASE("integer inference: every product is the exact sum, rounded once") {
  for (const Architecture& architecture : {residual_network(), plain_network(), awkward_network(), grouped_network()})
    for (const QuantizationChoice& choice : choices()) {
      const Quantized made = quantized(architecture, choice, 11);
      const IntegerInference integers(made.network, kernels(), made.quantized.products, made.quantized.grids);
      IntegerValues values;
      integers.run(made.inputs.data(), made.samples, values);
      const Reference reference(made, values);
      std::size_t wrong = 0, looked_at = 0;
      for (std::size_t index = 0; index < made.network.steps.size(); ++index) {
        const InferenceStep& step = made.network.steps[index];
        if (step.kind != Kind::product) continue;
        const bool scores = &step == made.network.scores();
        const double out_scale = scores ? integers.score_scale() : reference.scale(index + 1);
        for (std::size_t s = 0, at = 0; s < made.samples; ++s)
          for (std::size_t o = 0; o < step.out.channels; ++o)
            for (std::size_t y = 0; y < step.out.height; ++y)
              for (std::size_t x = 0; x < step.out.width; ++x, ++at, ++looked_at) {
                const Exact exact = reference.product(index, s, o, y, x, out_scale);
                if (scores) {
                  wrong += !agrees(values.scores[at], exact, -0x1p31, 0x1p31);
                  continue;
                }
                const Grid& grid = *made.quantized.grids[index + 1];
                const double least = step.rectified ? std::max(0, grid.low - grid.zero) : grid.low - grid.zero;
                wrong += !agrees(reference.distance(index + 1, at), exact, least, grid.high - grid.zero);
              }
      }
      CHECK(looked_at > 100);
      CHECK(wrong == 0);
    }
}

TEST_CASE("integer inference: sums of branches, pools and ReLUs rescale exactly") {
  for (const Architecture& architecture : {residual_network(), plain_network(), awkward_network()})
    for (const QuantizationChoice& choice : choices()) {
      const Quantized made = quantized(architecture, choice, 12);
      const IntegerInference integers(made.network, kernels(), made.quantized.products, made.quantized.grids);
      IntegerValues values;
      integers.run(made.inputs.data(), made.samples, values);
      const Reference reference(made, values);
      std::size_t wrong = 0;
      for (std::size_t index = 0; index < made.network.steps.size(); ++index) {
        const InferenceStep& step = made.network.steps[index];
        if (step.kind == Kind::product) continue;
        const Grid& grid = *made.quantized.grids[index + 1];
        const double least = step.rectified || step.kind == Kind::relu ? std::max(0, grid.low - grid.zero) : grid.low - grid.zero;
        const std::size_t in_places = step.in.height * step.in.width, out_places = step.out.height * step.out.width;
        for (std::size_t at = 0; at < made.samples * step.out.size(); ++at) {
          Exact exact;
          if (step.kind == Kind::add)
            for (const ValueIndex input : step.inputs) {
              exact.real += static_cast<double>(reference.distance(input, at)) * reference.scale(input) / reference.scale(index + 1);
              // The largest factor has 31 bits, the others as many behind the point: each is off by 2^-31 of the largest at most.
              exact.blur += 255 * reference.scale(input) / reference.scale(index + 1) * 0x1p-30 + 255 * 0x1p-30;
            }
          if (step.kind == Kind::relu) exact.real = static_cast<double>(reference.distance(step.inputs[0], at));
          const std::size_t plane = at / out_places, top = at % out_places / step.out.width * step.window.stride,
                            left = at % step.out.width * step.window.stride;
          std::int64_t sum = 0, most = -256;
          if (step.kind == Kind::max_pool || step.kind == Kind::average_pool)
            for (std::size_t i = top; i < top + step.window.height; ++i)
              for (std::size_t j = left; j < left + step.window.width; ++j) {
                if (i < step.window.pad_height || j < step.window.pad_width) continue;
                const std::size_t row = i - step.window.pad_height, column = j - step.window.pad_width;
                if (row >= step.in.height || column >= step.in.width) continue;
                const std::int64_t x = reference.distance(step.inputs[0], plane * in_places + row * step.in.width + column);
                sum += x;
                most = std::max(most, x);
              }
          if (step.kind == Kind::max_pool) exact.real = static_cast<double>(most);
          if (step.kind == Kind::average_pool) {
            exact.real = static_cast<double>(sum) * reference.scale(step.inputs[0]) / reference.scale(index + 1) /
                         static_cast<double>(step.window.height * step.window.width);
            exact.blur += std::abs(exact.real) * 0x1p-31;
          }
          wrong += !agrees(reference.distance(index + 1, at), exact, least, grid.high - grid.zero);
        }
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("integer inference and its simulation differ by no more than rounding can explain") {
  for (const Architecture& architecture : {residual_network(), plain_network()})
    for (const QuantizationChoice& choice : choices()) {
      const Quantized made = quantized(architecture, choice, 13);
      const IntegerInference integers(made.network, kernels(), made.quantized.products, made.quantized.grids);
      const InferenceNetwork simulated = on_grids(made.network, made.quantized, true, true);
      IntegerValues exact;
      FloatValues floats;
      integers.run(made.inputs.data(), made.samples, exact);
      FloatInference(simulated, kernels(), made.quantized.grids).run(made.inputs.data(), made.samples, floats);
      // In steps of its own grid a value differs by what its inputs' differences make of it, and one more where a sum lies so near a tie
      // that the simulation's 24 bits round it the other way.
      std::vector<double> most(made.network.values(), 0);
      std::size_t differing = 0, all = 0;
      for (ValueIndex value = 0; value < made.network.values(); ++value) {
        const InferenceStep* const step = value == 0 ? nullptr : &made.network.steps[value - 1];
        if (step == made.network.scores() && step) continue;
        const Grid& grid = *made.quantized.grids[value];
        const double scale = static_cast<double>(grid.scale);
        if (step && step->kind == Kind::product) {
          const QuantizedProduct& product = made.quantized.products[value - 1];
          const double input_scale = static_cast<double>(made.quantized.grids[step->inputs[0]]->scale);
          for (std::size_t o = 0; o < step->out.channels; ++o) {
            double gain = 0;
            for (std::size_t k = o * step->patch(); k < (o + 1) * step->patch(); ++k)
              gain += std::abs(product.weights[k] - product.grid(o).zero);
            gain *= static_cast<double>(product.grid(o).scale) * input_scale / scale;
            most[value] = std::max(most[value], std::floor(gain * most[step->inputs[0]]) + 1);
          }
        } else if (step && step->kind == Kind::add) {
          for (const ValueIndex input : step->inputs)
            most[value] += static_cast<double>(made.quantized.grids[input]->scale) / scale * most[input];
          most[value] += 1;
        } else if (step && step->kind == Kind::average_pool) {
          most[value] = static_cast<double>(made.quantized.grids[step->inputs[0]]->scale) / scale * most[step->inputs[0]] + 1;
        } else if (step) {
          most[value] = most[step->inputs[0]];
        }
        for (std::size_t i = 0; i < exact.of[value].size(); ++i, ++all) {
          const double apart = std::abs(exact.of[value][i] - grid.quantize(floats.of[value][i]));
          CHECK(apart <= most[value]);
          differing += apart > 0;
        }
      }
      CHECK(most[0] == 0);
      CHECK(differing * 100 <= all);
      std::vector<float> scores;
      integers.output(exact, made.samples, scores);
      const std::vector<float>& expected = floats.of[made.network.output];
      double largest = 0, apart = 0;
      for (std::size_t i = 0; i < scores.size(); ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
        apart = std::max(apart, std::abs(static_cast<double>(scores[i]) - static_cast<double>(expected[i])));
      }
      if (differing == 0) CHECK(apart <= 1e-5 * largest);
    }
}

TEST_CASE("integer inference: a bias that dwarfs its weights gets a scale at which it fits 32 bits") {
  ArchitectureBuilder build({3, 1, 1});
  build.linear(build.relu(build.linear(network_input, "fc1", 4)), "fc2", 2);
  Trained trained = with_weights(std::move(build).build(), 5);
  for (std::size_t k = 0; k < 3; ++k) {
    trained.weights[k] = 0;           // channel 0: no weights at all
    trained.weights[3 + k] = 1e-12f;  // channel 1: next to none
  }
  trained.weights[12] = 0.75f;  // biases of fc1
  trained.weights[13] = -900;
  trained.weights[14] = 900;
  const InferenceNetwork network = inference_network(trained.architecture, trained.weights.data());
  const std::vector<float> inputs = uniform(30, -1, 1, 6);
  const FloatInference floats(network, kernels());
  for (const bool per_channel : {true, false}) {
    const QuantizedNetwork made = quantize(network, calibrate(floats, inputs, 10, 1), {.per_channel = per_channel});
    for (const std::int32_t bias : made.products[0].biases) CHECK(std::abs(static_cast<double>(bias)) <= 0x1p30);
    const IntegerInference integers(network, kernels(), made.products, made.grids);
    IntegerValues values;
    FloatValues expected;
    integers.run(inputs.data(), 10, values);
    floats.run(inputs.data(), 10, expected);
    const Grid& grid = *made.grids[1];
    for (std::size_t i = 0; i < 40; ++i) {
      // Half a step of the output, half a step of each of three inputs and three weights, none of them larger than 1.
      const double allowed = static_cast<double>(grid.scale) * 0.51 + 3 * (1.0 / 127 + 1.0 / 127);
      CHECK(std::abs(static_cast<double>(grid.dequantize(values.of[1][i])) - static_cast<double>(expected.of[1][i])) <= allowed);
    }
  }
}

TEST_CASE("integer inference: sums that may leave 32 bits are refused") {
  ArchitectureBuilder build({70'000, 1, 1});
  build.linear(network_input, "wide", 1);
  Trained trained = with_weights(std::move(build).build(), 5);
  std::fill_n(trained.weights.begin(), 70'000, 0.5f);  // 127 steps each, 70,000 · 127 · 255 > 2^31
  const InferenceNetwork network = inference_network(trained.architecture, trained.weights.data());
  const std::vector<float> inputs = uniform(70'000, 0, 1, 6);
  const auto seen = calibrate(FloatInference(network, kernels()), inputs, 1, 1);
  const QuantizedNetwork eight = quantize(network, seen, {}), seven = quantize(network, seen, {.weight_bits = 7, .activation_bits = 7});
  CHECK_THROWS_WITH_AS(IntegerInference(network, kernels(), eight.products, eight.grids),
                       doctest::Contains("'wide' may need more than 32 bits"), std::invalid_argument);
  CHECK_NOTHROW(IntegerInference(network, kernels(), seven.products, seven.grids));
}
