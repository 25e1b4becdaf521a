// The engine `panels`: which networks it takes, their gradients against central differences of a plain forward pass in double, and
// what models promise. LeNet-5 and the FedAvg CNN by their entries.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "models/zoo/panel_network.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/text.hpp"

namespace straggler::test::panel_network_test {
namespace {

/// A chain with everything that the engine computes, in the orders that fuse and in those that do not.
Architecture all_layers() {
  ArchitectureBuilder build({2, 9, 8});
  LayerIndex x = build.max_pool(build.conv(network_input, "a", 3, Window::square(3, 1, 1), true), Window::square(2, 2));
  x = build.relu(x);
  x = build.relu(build.conv(x, "b", 5, {3, 2, 1, 1, 0}, false));
  x = build.average_pool(x, Window::square(2, 1, 1));
  x = build.max_pool(build.relu(x), Window::square(3, 2, 1));
  x = build.relu(build.linear(build.flatten(x), "c", 7));
  build.linear(x, "d", 4);
  return std::move(build).build();
}

Architecture global_pool() {
  ArchitectureBuilder build({1, 6, 6});
  LayerIndex x = build.relu(build.conv(network_input, "a", 4, Window::square(3, 2, 1), true));
  x = build.global_average_pool(x);
  build.linear(build.flatten(x), "b", 3);
  return std::move(build).build();
}

double at_or_zero(const std::vector<double>& plane, const Shape& shape, std::size_t channel, long y, long x, double beyond) {
  if (y < 0 || x < 0 || y >= static_cast<long>(shape.height) || x >= static_cast<long>(shape.width)) return beyond;
  return plane[(channel * shape.height + static_cast<std::size_t>(y)) * shape.width + static_cast<std::size_t>(x)];
}

/// What the window at (channel, row, column) makes of its taps.
template <class Take>
void for_taps(const LayerSpec& layer, std::size_t row, std::size_t column, const Take& take) {
  const Window& w = layer.window;
  for (std::size_t i = 0; i < w.height; ++i)
    for (std::size_t j = 0; j < w.width; ++j)
      take(static_cast<long>(row * w.stride + i) - static_cast<long>(w.pad_height),
           static_cast<long>(column * w.stride + j) - static_cast<long>(w.pad_width), i * w.width + j);
}

double window_value(const LayerSpec& layer, const std::vector<double>& x, const double* w, std::size_t o, std::size_t row,
                    std::size_t column) {
  const double lowest = -std::numeric_limits<double>::infinity();
  double value = layer.is("max_pool") ? lowest : 0;
  for_taps(layer, row, column, [&](long y, long c, std::size_t tap) {
    if (layer.is("max_pool")) value = std::max(value, at_or_zero(x, layer.in, o, y, c, lowest));
    if (layer.is("average_pool"))
      value += at_or_zero(x, layer.in, o, y, c, 0) / static_cast<double>(layer.window.height * layer.window.width);
    for (std::size_t i = 0; layer.is("conv") && i < layer.in.channels; ++i)
      value += at_or_zero(x, layer.in, i, y, c, 0) * w[(o * layer.in.channels + i) * layer.window.height * layer.window.width + tap];
  });
  return value;
}

/// One layer, one sample, in double.
std::vector<double> plain_layer(const LayerSpec& layer, const std::vector<double>& x, const double* w, const double* b) {
  std::vector<double> y(layer.out.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t plane = layer.out.height * layer.out.width, o = i / plane;
    if (layer.is("relu"))
      y[i] = std::max(x[i], 0.0);
    else if (layer.is("flatten"))
      y[i] = x[i];
    else if (layer.is("linear")) {
      for (std::size_t j = 0; j < x.size(); ++j) y[i] += x[j] * w[i * x.size() + j];
    } else {
      y[i] = window_value(layer, x, w, o, i % plane / layer.out.width, i % layer.out.width);
    }
    if (b) y[i] += b[o];
  }
  return y;
}

/// Of one sample, by plain loops in double.
std::vector<double> plain_scores(const Architecture& architecture, const std::vector<double>& weights, const float* inputs) {
  const NetworkLayout layout(architecture);
  std::vector<double> x(inputs, inputs + architecture.input.size());
  for (std::size_t l = 0; l < architecture.layers.size(); ++l) {
    const std::vector<std::size_t>& tensors = layout.tensors[l];
    x = plain_layer(architecture.layers[l], x, tensors.empty() ? nullptr : weights.data() + tensors[0],
                    tensors.size() < 2 ? nullptr : weights.data() + tensors[1]);
  }
  return x;
}

/// Σ scale · cross entropy.
double plain_loss(const Architecture& architecture, const std::vector<double>& weights, const std::vector<float>& inputs,
                  const std::vector<std::int32_t>& labels, const std::vector<float>& scale) {
  double loss = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const std::vector<double> scores = plain_scores(architecture, weights, inputs.data() + row * architecture.input.size());
    double sum = 0;
    for (const double score : scores) sum += std::exp(score);
    loss += static_cast<double>(scale[row]) * (std::log(sum) - scores[static_cast<std::size_t>(labels[row])]);
  }
  return loss;
}

/// Rows whose label has the largest score.
std::uint64_t plain_correct(const Architecture& architecture, const std::vector<double>& weights, const std::vector<float>& inputs,
                            const std::vector<std::int32_t>& labels) {
  std::uint64_t correct = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const std::vector<double> scores = plain_scores(architecture, weights, inputs.data() + row * architecture.input.size());
    correct += std::max_element(scores.begin(), scores.end()) - scores.begin() == labels[row] ? 1 : 0;
  }
  return correct;
}

struct Problem {
  Architecture architecture;
  std::size_t rows;
  std::vector<float> x, scale;
  std::vector<std::int32_t> labels;

  Problem(Architecture made, std::size_t count)
      : architecture(std::move(made)),
        rows(count),
        x(numbers(rows * architecture.input.size(), 1)),
        scale(rows, 1.0f / static_cast<float>(rows)),
        labels(labels_below(architecture.layers.back().out.size(), rows, 2)) {}
  Rows all() const { return {rows, x.data(), labels.data(), scale.data()}; }
  Rows without_scale() const { return {rows, x.data(), labels.data(), nullptr}; }
};

std::vector<float> initial(const Model& model) {
  std::vector<float> weights(model.length());
  model.initialize(5, weights.data());
  return weights;
}

DataInfo images(std::vector<std::size_t> shape, std::size_t classes) {
  DataInfo data;
  data.features = 1;
  for (const std::size_t width : shape) data.features *= width;
  data.shape = std::move(shape);
  data.classes = classes;
  return data;
}

std::unique_ptr<Model> make_model(const char* name, Parameters given, const DataInfo& data, const ModelSetting& setting) {
  const ModelEntry& entry = Registry<ModelEntry>::instance().at(name);
  return entry.make(complete(entry.parameters, std::move(given)), data, setting);
}

std::string refusal(const std::function<void()>& call) {
  return error_of<std::invalid_argument>([&] { call(); });
}

}  // namespace

TEST_CASE("losses equal plain loops, and gradients central differences of them, in every set of kernels") {
  for (const Architecture& architecture : {all_layers(), global_pool()}) {
    const Problem problem(architecture, 35);
    const std::vector<float> weights = initial(PanelNetwork(architecture, {*all_kernels().front()}));
    std::vector<double> exact = as<double>(weights), expected(weights.size());
    const double step = 1e-6;
    const double loss = plain_loss(architecture, exact, problem.x, problem.labels, problem.scale);
    if (sanitized) {  // where plain loops take half a minute: the first set stands for them
      const PanelNetwork first(architecture, {*all_kernels().front()});
      std::vector<float> gradient(weights.size());
      first.gradient(weights.data(), problem.all(), false, gradient.data(), *first.workspace());
      expected = as<double>(gradient);
    }
    for (std::size_t i = 0; i < weights.size() && !sanitized; ++i) {
      const double at = exact[i];
      exact[i] = at + step;
      const double above = plain_loss(architecture, exact, problem.x, problem.labels, problem.scale);
      exact[i] = at - step;
      expected[i] = (above - plain_loss(architecture, exact, problem.x, problem.labels, problem.scale)) / (2 * step);
      exact[i] = at;
    }
    const std::uint64_t expected_correct = plain_correct(architecture, exact, problem.x, problem.labels);
    for (const Kernels* kernels : all_kernels()) {
      CAPTURE(kernels->name);
      const PanelNetwork model(architecture, {*kernels});
      const std::unique_ptr<Workspace> workspace = model.workspace();
      std::vector<float> gradient(weights.size(), std::numeric_limits<float>::quiet_NaN());
      CHECK(model.gradient(weights.data(), problem.all(), false, gradient.data(), *workspace) == doctest::Approx(loss).epsilon(1e-6));
      CHECK(distance(gradient, expected) < 1e-5);
      // Once more onto what is there: twice the gradient.
      std::vector<float> twice = gradient;
      model.gradient(weights.data(), problem.all(), true, twice.data(), *workspace);
      for (float& value : twice) value /= 2;
      CHECK(distance(twice, expected) < 1e-5);
      std::uint64_t correct = 0;
      CHECK(model.evaluate(weights.data(), problem.without_scale(), correct, *workspace) / static_cast<double>(problem.rows) ==
            doctest::Approx(loss).epsilon(1e-6));
      CHECK(correct == expected_correct);
    }
  }
}

TEST_CASE("long calls are sums of shorter ones, and neither a workspace's history nor a cancelled call changes them") {
  const Problem large(all_layers(), 300), small(all_layers(), 37);
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    const PanelNetwork model(all_layers(), {*kernels});
    const std::vector<float> weights = initial(model);
    std::vector<float> fresh(weights.size()), used(weights.size()), parts(weights.size());
    const std::unique_ptr<Workspace> first = model.workspace(), second = model.workspace();
    const double loss = model.gradient(weights.data(), small.all(), false, fresh.data(), *first);
    model.gradient(weights.data(), large.all(), false, used.data(), *second);
    for (std::size_t at = 0; at < large.rows; at += 100)
      model.gradient(weights.data(),
                     {100, large.x.data() + at * large.architecture.input.size(), large.labels.data() + at, large.scale.data() + at},
                     at > 0, parts.data(), *first);
    CHECK(distance(parts, as<double>(used)) < 1e-6);
    std::atomic<bool> cancelled = true;
    second->cancelled = &cancelled;
    model.gradient(weights.data(), large.all(), false, parts.data(), *second);
    cancelled = false;
    CHECK(model.gradient(weights.data(), small.all(), false, used.data(), *second) == loss);
    CHECK(used == fresh);
  }
}

TEST_CASE("inputs in panels and row by row give the same bits, in every precision and over several blocks") {
  const Problem problem(all_layers(), 300);
  const std::size_t features = problem.architecture.input.size();
  const std::vector<float> panels = panels_of(problem.x, problem.rows, features, std::numeric_limits<float>::quiet_NaN());
  for (const Kernels* kernels : all_kernels())
    for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16}) {
      CAPTURE(kernels->name);
      const PanelNetwork model(problem.architecture, {*kernels, precision});
      REQUIRE(model.takes_panels());
      const std::vector<float> weights = initial(model);
      std::vector<float> by_rows(weights.size()), by_panels(weights.size());
      const std::unique_ptr<Workspace> workspace = model.workspace();
      Rows rows = problem.all();
      const double loss = model.gradient(weights.data(), rows, false, by_rows.data(), *workspace);
      rows.inputs = nullptr;
      rows.panels = panels.data();
      CHECK(model.gradient(weights.data(), rows, false, by_panels.data(), *workspace) == loss);
      CHECK(same_bits(by_panels, by_rows));
    }
}

TEST_CASE("a NaN weight anywhere in a network gives a NaN loss; no samples give a zero gradient") {
  const Problem problem(all_layers(), 4);
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    const PanelNetwork model(problem.architecture, {*kernels});
    const std::unique_ptr<Workspace> workspace = model.workspace();
    std::vector<float> weights = initial(model), gradient(weights.size(), 3.0f);
    for (std::size_t i = 0; i < weights.size(); i += 7) {
      const float kept = std::exchange(weights[i], std::numeric_limits<float>::quiet_NaN());
      CAPTURE(i);
      std::uint64_t correct = 0;
      CHECK(std::isnan(model.gradient(weights.data(), problem.all(), false, gradient.data(), *workspace)));
      CHECK(std::isnan(model.evaluate(weights.data(), problem.without_scale(), correct, *workspace)));
      weights[i] = kept;
    }
    CHECK(model.gradient(weights.data(), {}, false, gradient.data(), *workspace) == 0);
    CHECK(gradient == std::vector<float>(gradient.size(), 0.0f));
  }
}

TEST_CASE("in half precision the loss is near that of single precision, but not it") {
  const Problem problem(all_layers(), 40);
  const Kernels& kernels = select_kernels("auto");
  const PanelNetwork single(problem.architecture, {kernels}), half(problem.architecture, {kernels, Precision::fp16});
  const std::vector<float> weights = initial(single);
  std::vector<float> exact(weights.size()), rounded(weights.size());
  const double loss = single.gradient(weights.data(), problem.all(), false, exact.data(), *single.workspace());
  const double near = half.gradient(weights.data(), problem.all(), false, rounded.data(), *half.workspace());
  CHECK(near != loss);
  CHECK(near == doctest::Approx(loss).epsilon(0x1p-10));
  CHECK(distance(rounded, as<double>(exact)) < 0x1p-6);
  CHECK(half.workspace_bytes(40) == single.workspace_bytes(40) + weights.size() * sizeof(float));
}

TEST_CASE("the FedAvg CNN by direct convolutions and by Winograd's differ in their last digits") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    const auto gradient_of = [&](const char* convolution) {
      const std::unique_ptr<Model> model =
          make_model("fedavg_cnn", {{"engine", "panels"}, {"convolution", convolution}}, images({1, 8, 8}, 10), {*kernels});
      const std::vector<float> x = numbers(8 * 64, 1), scale(8, 0.125f), weights = initial(*model);
      const std::vector<std::int32_t> labels = labels_below(10, 8, 2);
      std::vector<float> gradient(weights.size());
      model->gradient(weights.data(), {8, x.data(), labels.data(), scale.data()}, false, gradient.data(), *model->workspace());
      return gradient;
    };
    const std::vector<float> direct = gradient_of("direct"), winograd = gradient_of("auto");
    CHECK(distance(winograd, as<double>(direct)) < 1e-5);
    CHECK((winograd == direct) == (kernels->name == "generic"));  // which knows no other way
  }
}

TEST_CASE("the engine panels takes chains of its layers alone") {
  const ModelSetting setting{select_kernels("auto")};
  CHECK(panel_steps(all_layers()).size() == 8);
  ArchitectureBuilder norm({1, 4, 4});
  norm.linear(norm.flatten(norm.batch_norm(network_input, "bn")), "fc", 2);
  const Architecture with_norm = std::move(norm).build();
  CHECK(panel_steps(with_norm).empty());
  CHECK(refusal([&] { make_network(with_norm, setting, "panels"); }).find("'panels' does not compute all layers") != std::string::npos);
  CHECK(refusal([&] { PanelNetwork(with_norm, setting); }).find("use another engine") != std::string::npos);

  ArchitectureBuilder fork({1, 4, 4});
  const LayerIndex flat = fork.flatten(network_input);
  const LayerIndex left = fork.linear(flat, "left", 2);
  fork.add({left, fork.linear(flat, "right", 2)});
  CHECK(panel_steps(std::move(fork).build()).empty());

  ArchitectureBuilder rectified({1, 4, 4});  // nothing would apply the last ReLU's derivative
  rectified.relu(rectified.linear(rectified.flatten(network_input), "fc", 2));
  CHECK(panel_steps(std::move(rectified).build()).empty());
}

TEST_CASE("LeNet-5 has 61,706 parameters, the FedAvg CNN 1,663,370, and both fit other images") {
  const ModelSetting setting{select_kernels("auto")};
  const auto parameters = [&](const char* name, std::vector<std::size_t> shape) {
    return make_model(name, {}, images(std::move(shape), 10), setting)->parameters();
  };
  CHECK(parameters("lenet5", {1, 28, 28}) == 61'706);
  CHECK(parameters("lenet5", {28, 28}) == 61'706);
  CHECK(parameters("lenet5", {1, 32, 32}) == 61'706);  // as wide as the padded ones
  CHECK(parameters("lenet5", {3, 32, 32}) == 61'706 + 2 * 25 * 6);
  CHECK(parameters("fedavg_cnn", {1, 28, 28}) == 1'663'370);
  CHECK(parameters("fedavg_cnn", {3, 32, 32}) == 1'663'370 + 2 * 25 * 32 + (8 * 8 - 7 * 7) * 64 * 512);
  const std::unique_ptr<Model> lenet = make_model("lenet5", {}, images({1, 28, 28}, 10), setting);
  const std::vector<TensorInfo> tensors = lenet->tensors();
  REQUIRE(tensors.size() == 10);
  CHECK(tensors[2].name == "conv2.weight");
  CHECK(tensors[2].shape == std::vector<std::size_t>{16, 6, 5, 5});
  CHECK(tensors[9].name == "fc3.bias");
  double flops = 0;
  std::size_t counted = 0;
  for (const LayerCost& layer : lenet->cost()) {
    flops += layer.forward_flops;
    counted += layer.parameters;
  }
  CHECK(counted == 61'706);
  CHECK(flops == 2.0 * (28 * 28 * 6 * 25 + 10 * 10 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10));
}

TEST_CASE("image networks refuse data that are not images, or too small ones, with the remedy") {
  const ModelSetting setting{select_kernels("auto")};
  const auto refused = [&](const char* name, const DataInfo& data) { return refusal([&] { make_model(name, {}, data, setting); }); };
  CHECK(refused("lenet5", images({2}, 4)) ==
        "lenet5 takes images, and the samples of this data set are vectors of 2; use a data set of images, or mlp");
  CHECK(refused("lenet5", images({1, 8, 30}, 4)) ==
        "lenet5 takes images of at least 12 x 12, those of this data set are 8 x 30; use larger images, or mlp");
  CHECK(make_model("lenet5", {}, images({1, 12, 12}, 4), setting)->parameters() > 0);
  CHECK(refused("fedavg_cnn", images({1, 3, 9}, 4)).find("at least 4 x 4") != std::string::npos);
  CHECK(make_model("fedavg_cnn", {{"engine", "panels"}}, images({1, 4, 4}, 4), setting)->parameters() > 0);
  CHECK(refusal([&] {
          make_model("lenet5", {{"engine", "abacus"}}, images({1, 28, 28}, 4), setting);
        }).find("abacus") != std::string::npos);
}

TEST_CASE("LeNet-5 learns two kinds of images within a few steps") {
  const ModelSetting setting{select_kernels("auto")};
  const std::unique_ptr<Model> model = make_model("lenet5", {}, images({1, 16, 16}, 2), setting);
  const std::size_t rows = 64, features = 256;
  std::vector<float> x = numbers(rows * features, 1);
  std::vector<std::int32_t> labels = labels_below(2, rows, 2);
  for (std::size_t row = 0; row < rows; ++row)  // stripes along one axis or the other
    for (std::size_t i = 0; i < features; ++i) x[row * features + i] += (labels[row] ? i % 16 : i / 16) % 4 < 2 ? 0.5f : -0.5f;
  const std::vector<float> scale(rows, 1.0f / static_cast<float>(rows));
  std::vector<float> weights = initial(*model), gradient(weights.size());
  const std::unique_ptr<Workspace> workspace = model->workspace();
  for (int step = 0; step < 60; ++step) {
    model->gradient(weights.data(), {rows, x.data(), labels.data(), scale.data()}, false, gradient.data(), *workspace);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.1f * gradient[i];
  }
  std::uint64_t correct = 0;
  model->evaluate(weights.data(), {rows, x.data(), labels.data(), nullptr}, correct, *workspace);
  CHECK(correct >= 62);
}

}  // namespace straggler::test::panel_network_test
