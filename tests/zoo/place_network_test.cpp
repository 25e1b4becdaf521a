// The engine `panels` on networks over sequences: against the plain network in double, whose own gradients are central differences
// (reference_network_test.cpp); which networks it takes, and what models promise.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "models/zoo/place_network.hpp"
#include "models/zoo/reference_network.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/text.hpp"

namespace straggler::test::place_network_test {
namespace {

Value number(std::size_t count) { return static_cast<std::int64_t>(count); }

/// A decoder of blocks, and what stands at its end.
struct Decoder {
  std::size_t places, width, heads, key_value_heads, hidden, blocks;
  bool causal, bias;
  const char *norm, *activation, *form;
  double drop;
  enum class End { mean, first, flat, places, tied } end;
};
constexpr std::size_t vocabulary = 13, classes = 7;

Architecture network(const Decoder& of) {
  ArchitectureBuilder build({1, of.places, 1});
  const LayerIndex tokens =
      build.layer("embedding", {network_input},
                  {{"width", number(of.width)}, {"rows", number(vocabulary)}, {"positions", std::string("learned")}}, LayerName("tokens"));
  LayerIndex x = tokens;
  for (std::size_t i = 0; i < of.blocks; ++i) {
    const std::string name = std::to_string(i);
    const auto linear = [&](LayerIndex from, const std::string& part, std::size_t features) {
      return build.layer("linear", {from}, {{"features", number(features)}, {"bias", of.bias}}, LayerName(part + name));
    };
    LayerIndex y = build.layer(of.norm, {x}, {}, LayerName("norm1." + name));
    y = build.layer("attention", {y}, {{"heads", number(of.heads)}, {"key_value_heads", number(of.key_value_heads)}, {"causal", of.causal}},
                    LayerName("attention" + name));
    if (of.drop > 0) y = build.dropout(y, of.drop);
    x = build.add({x, y});
    y = linear(build.layer(of.norm, {x}, {}, LayerName("norm2." + name)), "up", of.hidden);
    y = build.layer(of.activation, {y}, *of.form ? Parameters{{"form", std::string(of.form)}} : Parameters{});
    x = build.add({x, linear(y, "down", of.width)});
  }
  x = build.layer(of.norm, {x}, {}, LayerName("norm"));
  if (of.end == Decoder::End::mean) x = build.flatten(build.global_average_pool(x));
  if (of.end == Decoder::End::flat) x = build.flatten(x);
  if (of.end == Decoder::End::first) x = build.first_place(x);
  if (of.end == Decoder::End::tied)
    build.layer("linear", {x}, {{"features", number(vocabulary)}}, LayerName("head"), tokens);
  else
    build.linear(x, "head", classes);
  return std::move(build).build();
}

/// Samples that begin a panel and that do not, one place, one head, odd widths, panels of queries beyond the first.
std::vector<Decoder> decoders() {
  using End = Decoder::End;
  std::vector<Decoder> all = {{5, 8, 4, 2, 6, 1, true, true, "layer_norm", "gelu", "tanh", 0, End::mean},
                              {1, 7, 1, 1, 9, 2, true, false, "layer_norm", "gelu", "erf", 0, End::flat},
                              {33, 12, 3, 1, 17, 2, false, true, "rms_norm", "silu", "", 0.2, End::mean},
                              {64, 32, 4, 4, 64, 1, true, true, "layer_norm", "gelu", "erf", 0, End::mean},
                              {70, 24, 2, 2, 33, 1, true, false, "rms_norm", "relu", "", 0.5, End::flat},
                              {32, 15, 5, 5, 10, 1, false, true, "layer_norm", "tanh", "", 0.1, End::mean},
                              {130, 6, 1, 1, 10, 1, true, true, "rms_norm", "gelu", "tanh", 0, End::mean},
                              {17, 12, 3, 3, 8, 1, true, true, "layer_norm", "gelu", "tanh", 0, End::tied}};
  if (Registry<LayerEntry>::instance().at("first_place").forward)
    all.push_back({9, 8, 2, 2, 5, 1, false, true, "layer_norm", "gelu", "erf", 0, End::first});
  return all;
}

struct Problem {
  Architecture architecture;
  std::size_t rows;
  std::vector<float> weights, x, scale;
  std::vector<std::int32_t> labels;
  std::vector<std::uint64_t> draws;

  Problem(Architecture made, std::size_t count)
      : architecture(std::move(made)), rows(count), weights(NetworkLayout(architecture).parameters), scale(numbers(rows, 6)) {
    initialize(architecture, 5, weights.data());
    const std::vector<float> moved = numbers(weights.size(), 3);  // no norm's gain and no bias is one or zero
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += 0.1f * moved[i];
    const bool tokens = architecture.layers.front().entry->tokens;
    x = numbers(rows * architecture.input.size(), 1);
    for (float& value : x)
      if (tokens) value = std::floor((value + 1) / 2 * static_cast<float>(vocabulary));
    labels = labels_below(architecture.layers.back().out.channels, rows * architecture.layers.back().out.places(), 2);
    RandomStream stream(4, "draws");
    for (std::size_t row = 0; row < rows; ++row) draws.push_back(stream());
    for (float& each : scale) each = (1.5f + each) / static_cast<float>(rows);
  }
  Rows all() const { return part(0, rows); }
  Rows part(std::size_t at, std::size_t count) const {
    return {count, x.data() + at * architecture.input.size(), labels.data() + at, scale.data() + at, draws.data() + at};
  }
};

struct Exact {
  double loss, evaluated;
  std::vector<double> gradient;
  std::uint64_t correct = 0;

  explicit Exact(const Problem& problem) {
    const ReferenceNetwork<double> network(problem.architecture);
    const std::vector<double> weights = as<double>(problem.weights), x = as<double>(problem.x), scale = as<double>(problem.scale);
    ReferenceNetwork<double>::Memory memory = network.memory();
    gradient.resize(weights.size());
    loss = network.gradient(weights.data(), {problem.rows, x.data(), problem.labels.data(), scale.data(), problem.draws.data()}, false,
                            gradient.data(), memory);
    evaluated = network.evaluate(weights.data(), {problem.rows, x.data(), problem.labels.data(), nullptr, nullptr}, correct, memory);
  }
};

std::vector<float> gradient_of(const Model& model, const Problem& problem, const Rows& rows, double* loss = nullptr) {
  std::vector<float> gradient(problem.weights.size(), std::numeric_limits<float>::quiet_NaN());
  const double sum = model.gradient(problem.weights.data(), rows, false, gradient.data(), *model.workspace());
  if (loss) *loss = sum;
  return gradient;
}

}  // namespace

TEST_CASE("transformers equal plain loops in double, in every set of kernels, tensor by tensor") {
  for (const Decoder& of : decoders()) {
    const Problem problem(network(of), of.places == 1 ? 1 : 9);
    const Exact exact(problem);
    for (const Kernels* kernels : all_kernels()) {
      CAPTURE(kernels->name);
      CAPTURE(of.places);
      const PlaceNetwork model(problem.architecture, {*kernels});
      double loss = 0;
      const std::vector<float> gradient = gradient_of(model, problem, problem.all(), &loss);
      CHECK(loss == doctest::Approx(exact.loss).epsilon(1e-6));
      CHECK(distance(gradient, exact.gradient) < 2e-6);
      double norm = 0;
      for (const double value : exact.gradient) norm += value * value;
      for (const TensorInfo& tensor : model.tensors()) {
        CAPTURE(tensor.name);
        std::size_t count = 1;
        for (const std::size_t side : tensor.shape) count *= side;
        double off = 0, own = 0;
        for (std::size_t i = tensor.offset; i < tensor.offset + count; ++i) {
          off += std::pow(static_cast<double>(gradient[i]) - exact.gradient[i], 2);
          own += exact.gradient[i] * exact.gradient[i];
        }
        CHECK(off <= 1e-10 * own + 1e-14 * norm);  // a key's bias moves no softmax: its derivative is 0
      }
      std::uint64_t correct = 0;
      CHECK(model.evaluate(problem.weights.data(), problem.all(), correct, *model.workspace()) ==
            doctest::Approx(exact.evaluated).epsilon(1e-6));
      CHECK(correct == exact.correct);
    }
  }
}

TEST_CASE("networks of its layers without places are computed by samples") {
  ArchitectureBuilder build({3, 4, 2});
  LayerIndex x = build.flatten(build.layer("silu", {build.linear(network_input, "places", 5)}));
  const LayerIndex left = build.dropout(build.tanh(build.linear(x, "a", 9)), 0.3);
  x = build.add({left, build.linear(left, "b", 9), left});  // an input twice, and one that a layer reads besides
  x = build.add({x});
  build.relu(build.linear(x, "head", classes));
  const Problem problem(std::move(build).build(), 70);
  const Exact exact(problem);
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    double loss = 0;
    const PlaceNetwork model(problem.architecture, {*kernels});
    CHECK(distance(gradient_of(model, problem, problem.all(), &loss), exact.gradient) < 1e-6);
    CHECK(loss == doctest::Approx(exact.loss).epsilon(1e-6));
  }
}

TEST_CASE("labels by place: a sample's loss is the mean of its places, each as if it were a sample") {
  constexpr std::size_t places = 5, rows = 7, width = 6;
  const auto made = [](std::size_t of) {
    ArchitectureBuilder build({width, of, 1});
    build.linear(build.gelu(build.layer_norm(network_input, "norm")), "head", classes);
    return std::move(build).build();
  };
  Problem by_place(made(places), rows), alone(made(1), rows * places);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t place = 0; place < places; ++place) {
      for (std::size_t c = 0; c < width; ++c) alone.x[(row * places + place) * width + c] = by_place.x[(row * width + c) * places + place];
      alone.labels[row * places + place] = by_place.labels[row * places + place];
      alone.scale[row * places + place] = by_place.scale[row] / places;
    }
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    const PlaceNetwork model(by_place.architecture, {*kernels}), samples(alone.architecture, {*kernels});
    double loss = 0, expected = 0;
    CHECK(same_bits(gradient_of(model, by_place, by_place.all(), &loss), gradient_of(samples, alone, alone.all(), &expected)));
    CHECK(loss == doctest::Approx(expected).epsilon(1e-12));
    std::uint64_t correct = 0, expected_correct = 0;
    const double mean = model.evaluate(by_place.weights.data(), by_place.all(), correct, *model.workspace());
    CHECK(mean * places == doctest::Approx(samples.evaluate(alone.weights.data(), alone.all(), expected_correct, *samples.workspace())));
    CHECK(correct == expected_correct);
  }
}

TEST_CASE("long calls are sums of their blocks, and neither a workspace's history nor a cancelled call changes them") {
  const Decoder of{40, 8, 2, 1, 12, 1, true, true, "layer_norm", "gelu", "erf", 0.25, Decoder::End::mean};
  const Problem problem(network(of), 29);  // blocks of 512 / 40 = 12 samples
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    const PlaceNetwork model(problem.architecture, {*kernels});
    double loss = 0, sum = 0;
    const std::vector<float> whole = gradient_of(model, problem, problem.all(), &loss);
    std::vector<float> parts(whole.size());
    const std::unique_ptr<Workspace> used = model.workspace();
    for (std::size_t at = 0; at < problem.rows; at += 12)
      sum += model.gradient(problem.weights.data(), problem.part(at, std::min<std::size_t>(12, problem.rows - at)), at > 0, parts.data(),
                            *used);
    CHECK(same_bits(parts, whole));
    CHECK(sum == doctest::Approx(loss).epsilon(1e-12));
    const std::atomic<bool> cancelled = true;
    std::vector<float> lost(whole.size());
    used->cancelled = &cancelled;
    model.gradient(problem.weights.data(), problem.all(), false, lost.data(), *used);
    used->cancelled = nullptr;
    model.gradient(problem.weights.data(), problem.all(), false, lost.data(), *used);
    CHECK(same_bits(lost, whole));
    CHECK(model.gradient(problem.weights.data(), {}, false, lost.data(), *used) == 0);
    CHECK(lost == std::vector<float>(lost.size(), 0.0f));
  }
}

TEST_CASE("a NaN weight gives a NaN loss") {
  const Problem problem(network(decoders().front()), 6);
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    const PlaceNetwork model(problem.architecture, {*kernels});
    std::vector<float> weights = problem.weights, gradient(weights.size());
    for (const TensorInfo& tensor : model.tensors()) {
      if (tensor.name == "tokens.weight") continue;  // whose first row no sample need read
      CAPTURE(tensor.name);
      const float kept = std::exchange(weights[tensor.offset], std::numeric_limits<float>::quiet_NaN());
      CHECK(std::isnan(model.gradient(weights.data(), problem.all(), false, gradient.data(), *model.workspace())));
      weights[tensor.offset] = kept;
    }
  }
}

TEST_CASE("in half precision the loss is near that of single precision, but not it") {
  const Problem problem(network(decoders()[3]), 5);
  const Kernels& kernels = select_kernels("auto");
  const PlaceNetwork single(problem.architecture, {kernels}), half(problem.architecture, {kernels, Precision::fp16});
  double loss = 0, near = 0;
  const std::vector<float> exact = gradient_of(single, problem, problem.all(), &loss),
                           rounded = gradient_of(half, problem, problem.all(), &near);
  CHECK(near != loss);
  CHECK(near == doctest::Approx(loss).epsilon(0x1p-9));
  CHECK(distance(rounded, as<double>(exact)) < 0x1p-5);
  CHECK(half.workspace_bytes(5) == single.workspace_bytes(5) + problem.weights.size() * sizeof(float));
}

TEST_CASE("tokens are not rounded, whatever numbers the format has: bfloat16 has no 257") {
  ArchitectureBuilder build({1, 3, 1});
  build.linear(build.flatten(build.embedding(network_input, "tokens", 300, 2)), "head", 2);
  const Architecture architecture = std::move(build).build();
  const float x[] = {257, 257, 257}, scale = 1;
  const std::int32_t label = 0;
  for (const char* const engine : {"panels", "reference"}) {
    CAPTURE(engine);
    const std::unique_ptr<Model> model = make_network(architecture, {select_kernels("auto"), Precision::bf16}, engine);
    std::vector<float> weights(model->length()), gradient(model->length());
    model->initialize(1, weights.data());
    model->gradient(weights.data(), {1, x, &label, &scale}, false, gradient.data(), *model->workspace());
    for (std::size_t row = 0; row < 300; ++row) CHECK((gradient[2 * row] != 0) == (row == 257));
  }
}

TEST_CASE("auto takes panels where all layers of a transformer are known to it") {
  const ModelSetting setting{select_kernels("auto")};
  const Architecture known = network(decoders().front());
  CHECK(choose_engine(known, setting, "auto").name == "panels");
  CHECK(make_network(known, setting)->engine() == "panels");
  ArchitectureBuilder joined({1, 4, 1});
  const LayerIndex x = joined.embedding(network_input, "tokens", vocabulary, 4);
  joined.linear(joined.flatten(joined.concat({x, x})), "head", classes);
  const Architecture unknown = std::move(joined).build();
  CHECK(choose_engine(unknown, setting, "auto").name == "reference");
  CHECK(error_of<std::invalid_argument>([&] { PlaceNetwork(unknown, setting); }).find("use another engine") != std::string::npos);
}

TEST_CASE("a token outside the table is refused") {
  Problem problem(network(decoders().front()), 2);
  problem.x[3] = vocabulary;
  const PlaceNetwork model(problem.architecture, {select_kernels("auto")});
  CHECK(error_of<std::invalid_argument>([&] { gradient_of(model, problem, problem.all()); }).find("is given the token 13") !=
        std::string::npos);
}

}  // namespace straggler::test::place_network_test
