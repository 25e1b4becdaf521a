// The engine `onednn` against plain loops in double precision: each kind of layer, and networks of them. oneDNN is told once in a process
// which instructions it may use: so each set of kernels has a process of its own, which runs the test cases that are skipped here.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <thread>

#include "models/zoo/architecture_resnet.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/zoo/plain_network.hpp"

namespace straggler::test::onednn_network_test {
namespace {

const Kernels& chosen() {
  const char* const name = std::getenv("STRAGGLER_TEST_KERNELS");
  return select_kernels(name ? name : "auto");
}

std::unique_ptr<Model> model_of(const Architecture& net, ConvolutionRule rule = ConvolutionRule::direct,
                                Precision precision = Precision::fp32) {
  return make_network(net, ModelSetting{chosen(), precision, rule}, "onednn");
}

/// Weights, samples and labels of one network. Norms get weights that are not 1 and running statistics that are not the batch's.
struct Problem {
  Architecture net;
  std::size_t rows;
  std::vector<float> weights, x, scale;
  std::vector<std::int32_t> labels;

  Problem(Architecture architecture, std::size_t count, std::uint64_t seed = 1) : net(std::move(architecture)), rows(count) {
    const NetworkLayout layout(net);
    weights.resize(layout.parameters + layout.statistic_floats);
    initialize(net, seed, weights.data());
    const std::vector<float> noise = numbers(weights.size(), seed + 1);
    for (std::size_t l = 0; l < net.layers.size(); ++l) {
      if (!net.layers[l].is("batch_norm")) continue;
      const std::size_t channels = net.layers[l].in.channels;
      for (std::size_t i = 0; i < channels; ++i) {
        weights[layout.tensors[l][0] + i] += 0.5f * noise[layout.tensors[l][0] + i];
        weights[layout.tensors[l][1] + i] += 0.5f * noise[layout.tensors[l][1] + i];
        weights[layout.statistics[l] + i] += 0.2f * noise[layout.statistics[l] + i];
        weights[layout.statistics[l] + channels + i] += 0.5f * noise[layout.statistics[l] + channels + i];
      }
    }
    x = numbers(rows * net.input.size(), seed + 2);
    labels = labels_below(net.layers.back().out.size(), rows, seed + 3);
    scale.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) scale[i] = static_cast<float>(1 + i % 3) / static_cast<float>(2 * rows);
  }
  Rows all() const { return {rows, x.data(), labels.data(), scale.data()}; }
};

template <class Spec>
void set_groups(Spec& layer, std::size_t groups) {
  layer.tensors[0].shape[1] /= groups;
  if constexpr (requires { layer.groups; }) layer.groups = groups;
}

Architecture finish(ArchitectureBuilder build, LayerIndex last, std::size_t classes) {
  build.linear(build.flatten(last), "linear", classes);
  return std::move(build).build();
}

Architecture one_conv(Shape in, std::size_t channels, Window window, bool bias, std::size_t groups = 1) {
  ArchitectureBuilder build(in);
  const LayerIndex first = build.conv(network_input, "a", in.channels, Window::square(1), true);  // so that gradients reach the input
  const LayerIndex conv = build.conv(first, "b", channels, window, bias);
  Architecture net = finish(std::move(build), conv, 5);
  set_groups(net.layers[conv], groups);
  return net;
}

Architecture one_pool(Shape in, bool largest, Window window) {
  ArchitectureBuilder build(in);
  const LayerIndex conv = build.conv(network_input, "a", in.channels, Window::square(3, 1, 1), true);
  const LayerIndex pool = largest ? build.max_pool(conv, window) : build.average_pool(conv, window);
  return finish(std::move(build), pool, 4);
}

/// Norms with and without what they are fused with, sums of three, values that several layers read.
Architecture tangle(std::size_t channels) {
  ArchitectureBuilder build({3, 9, 8});
  const LayerIndex a = build.batch_norm(build.conv(network_input, "a", channels, Window::square(3, 1, 1)), "na");
  const LayerIndex b = build.relu(a);
  const LayerIndex c = build.batch_norm(build.conv(a, "c", channels, Window::square(3, 1, 1), true), "nc");
  const LayerIndex d = build.relu(build.add({b, c}));
  const LayerIndex e = build.add({d, b, a});
  const LayerIndex f = build.batch_norm(build.conv(e, "f", 2 * channels, Window::square(1, 2)), "nf");
  const LayerIndex g = build.batch_norm(build.conv(e, "g", 2 * channels, {3, 3, 2, 1, 1}), "ng");
  const LayerIndex h = build.add({f, g});
  const LayerIndex i = build.relu(build.max_pool(h, Window::square(2, 1)));
  const LayerIndex j = build.relu(build.conv(i, "j", 7, Window::square(2), true));
  const LayerIndex k = build.global_average_pool(build.batch_norm(j, "nj"));
  return finish(std::move(build), k, 6);
}

void check_problem(const Problem& problem, const Model& model, double bound) {
  std::vector<double> expected;
  PlainNetwork plain(problem.net, problem.weights);
  const double expected_loss = plain.gradient(problem.all(), expected);
  const std::unique_ptr<Workspace> workspace = model.workspace();
  std::vector<float> gradient(expected.size(), std::numeric_limits<float>::quiet_NaN());
  const double loss = model.gradient(problem.weights.data(), problem.all(), false, gradient.data(), *workspace);
  CHECK(loss == doctest::Approx(expected_loss).epsilon(bound));
  // Tensor by tensor: a small one that is wrong does not hide behind a large one. What is zero but for rounding (a bias before a norm)
  // is measured by the whole.
  double norm = 0;
  for (const double value : expected) norm += value * value;
  std::vector<TensorInfo> tensors = model.tensors();
  for (const TensorInfo& buffer : model.buffers()) tensors.push_back(buffer);
  for (const TensorInfo& tensor : tensors) {
    CAPTURE(tensor.name);
    double off = 0, own = 0;
    std::size_t count = 1;
    for (const std::size_t width : tensor.shape) count *= width;
    for (std::size_t i = tensor.offset; i < tensor.offset + count; ++i) {
      off += std::pow(static_cast<double>(gradient[i]) - expected[i], 2);
      own += expected[i] * expected[i];
    }
    CHECK(std::sqrt(off) <= bound * std::max(std::sqrt(own), 0.01 * std::sqrt(norm)));
  }
  // Onto what is there: twice the gradient.
  model.gradient(problem.weights.data(), problem.all(), true, gradient.data(), *workspace);
  for (double& value : expected) value *= 2;
  CHECK(distance(gradient, expected) < bound);

  std::uint64_t correct = 0, expected_correct = 0;
  const double expected_evaluation = plain.evaluate(problem.all(), expected_correct);
  CHECK(model.evaluate(problem.weights.data(), problem.all(), correct, *workspace) == doctest::Approx(expected_evaluation).epsilon(bound));
  CHECK(correct == expected_correct);
}

constexpr double direct_bound = 1e-5;

}  // namespace

// Each set in a process of its own. There the leak check is left out: LeakSanitizer of GCC 12 breaks off ("Tracer caught signal 11") while
// it reads the threads of a process that has run oneDNN on some processors (google/sanitizers, issue 1353).
TEST_CASE("the engine onednn in every set of kernels") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const std::string_view name : available_kernels()) {
    if (name == "generic" || (sanitized && name != available_kernels().back())) continue;
    CAPTURE(name);
    const std::string command =
        "ASAN_OPTIONS=detect_leaks=0 STRAGGLER_TEST_KERNELS=" + std::string(name) + " '" + self + "' --no-skip --test-case='onednn: *' >&2";
    CHECK(std::system(command.c_str()) == 0);
  }
}

TEST_CASE("the engine onednn refuses what it cannot compute, in words") {
  const Architecture net = resnet_narrow({1, 1, 1}, 10);
  CHECK_THROWS_WITH_AS(make_network(net, ModelSetting{select_kernels("generic")}, "onednn"), doctest::Contains("use auto"),
                       std::invalid_argument);
  ArchitectureBuilder build({3, 4, 4});
  build.gelu(network_input);
  CHECK_THROWS_AS(make_network(std::move(build).build(), ModelSetting{select_kernels("auto")}, "onednn"), std::invalid_argument);
}

TEST_CASE("onednn: convolutions equal plain loops: strides, paddings, windows, groups, widths that fill no register" * doctest::skip()) {
  const std::vector<Architecture> nets = {one_conv({3, 7, 9}, 8, Window::square(3, 1, 1), true),
                                          one_conv({16, 8, 8}, 32, Window::square(3, 1, 1), false),
                                          one_conv({16, 9, 7}, 16, {3, 2, 2, 1, 0}, true),
                                          one_conv({5, 11, 6}, 20, {5, 3, 3, 2, 1}, false),
                                          one_conv({32, 6, 6}, 16, Window::square(1, 2), true),
                                          one_conv({1, 12, 12}, 6, Window::square(5), true),
                                          one_conv({8, 6, 6}, 12, Window::square(3, 1, 1), true, 4),
                                          one_conv({32, 5, 5}, 64, Window::square(3, 2, 1), true, 2),
                                          one_conv({16, 6, 5}, 16, Window::square(3, 1, 1), false, 16)};
  for (const Architecture& net : nets) {
    CAPTURE(&net - nets.data());
    const Problem problem(net, 3);
    check_problem(problem, *model_of(net), direct_bound);
  }
}

TEST_CASE("onednn: pools equal plain loops" * doctest::skip()) {
  for (const bool largest : {true, false})
    for (const std::size_t channels : {6u, 16u})
      for (const Window& window : {Window::square(2, 2), Window{3, 2, 2, 1, 1}, Window{8, 7, 1, 0, 0}}) {
        CAPTURE(largest);
        CAPTURE(channels);
        CAPTURE(window.height);
        const Problem problem(one_pool({channels, 8, 7}, largest, window), 4);
        check_problem(problem, *model_of(problem.net), direct_bound);
      }
}

TEST_CASE("onednn: norms, sums and ReLUs in every neighbourhood; residual networks" * doctest::skip()) {
  for (const std::size_t channels : {5u, 16u, 24u})
    for (const std::size_t rows : {2u, 7u}) {
      CAPTURE(channels);
      CAPTURE(rows);
      const Problem problem(tangle(channels), rows);
      const std::unique_ptr<Model> model = model_of(problem.net);
      CHECK(model->couples_samples());
      CHECK(model->length() == problem.weights.size());
      check_problem(problem, *model, 2e-5);
    }
  const Problem resnet(resnet_narrow({1, 1, 1}, 10, {1, 12, 12}), 5);
  check_problem(resnet, *model_of(resnet.net), 2e-5);
}

TEST_CASE("onednn: linear layers and ReLUs alone; no layer couples samples, so long calls are sums of short ones" * doctest::skip()) {
  ArchitectureBuilder build({2, 3, 3});
  build.linear(build.relu(build.linear(build.flatten(network_input), "a", 17)), "b", 4);
  const Problem problem(std::move(build).build(), 300);
  const std::unique_ptr<Model> model = model_of(problem.net);
  CHECK_FALSE(model->couples_samples());
  check_problem(problem, *model, direct_bound);
}

TEST_CASE("onednn: vectors and maps of one place are the same to every layer" * doctest::skip()) {
  ArchitectureBuilder build({12, 1, 1});
  const LayerIndex a = build.relu(build.batch_norm(build.linear(network_input, "a", 16), "na"));
  const LayerIndex b = build.conv(a, "b", 16, Window::square(1), true);
  const LayerIndex c = build.add({build.linear(b, "c", 16), a, b});
  const LayerIndex d = build.add({build.batch_norm(build.linear(c, "d", 16), "nd"), b});
  build.linear(build.max_pool(build.relu(d), Window::square(1)), "e", 5);
  const Problem problem(std::move(build).build(), 9);
  check_problem(problem, *model_of(problem.net), 2e-5);
}

TEST_CASE("onednn: Winograd's convolutions are close, within a bound of their own" * doctest::skip()) {
  const Problem problem(one_conv({64, 12, 12}, 64, Window::square(3, 1, 1), true), 3);
  for (const ConvolutionRule rule : {ConvolutionRule::winograd, ConvolutionRule::automatic})
    check_problem(problem, *model_of(problem.net, rule), 1e-4);
  // So many tiles, some of them cut off, that they are transformed in several blocks.
  const Problem many(one_conv({32, 15, 14}, 32, Window::square(3, 1, 1), false), 13);
  check_problem(many, *model_of(many.net, ConvolutionRule::winograd), 1e-4);
}

TEST_CASE("onednn: threads, earlier sizes and calls that were called off leave no trace in the bits" * doctest::skip()) {
  const Problem large(tangle(16), 12), small(tangle(16), 5);
  const std::unique_ptr<Model> model = model_of(large.net, ConvolutionRule::automatic);
  const auto gradient_of = [&](const Problem& problem, Workspace& workspace) {
    std::vector<float> gradient(model->length());
    model->gradient(problem.weights.data(), problem.all(), false, gradient.data(), workspace);
    return gradient;
  };
  const std::unique_ptr<Workspace> workspace = model->workspace();
  const std::vector<float> of_large = gradient_of(large, *workspace), of_small = gradient_of(small, *model->workspace());
  CHECK(gradient_of(small, *workspace) == of_small);
  std::atomic<bool> cancelled = true;
  workspace->cancelled = &cancelled;
  gradient_of(large, *workspace);
  cancelled = false;
  CHECK(gradient_of(large, *workspace) == of_large);

  std::vector<std::vector<float>> found(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < found.size(); ++t)
    threads.emplace_back([&, t] {
      const std::unique_ptr<Workspace> own = model->workspace();
      for (int again = 0; again < 5; ++again) found[t] = gradient_of(t % 2 ? large : small, *own);
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < found.size(); ++t) CHECK(found[t] == (t % 2 ? of_large : of_small));
}

TEST_CASE("onednn: a NaN weight anywhere gives a NaN loss" * doctest::skip()) {
  ArchitectureBuilder build({3, 6, 6});
  const LayerIndex norm = build.relu(build.batch_norm(build.conv(network_input, "a", 8, Window::square(3, 1, 1)), "n"));
  const LayerIndex pool = build.max_pool(build.relu(build.conv(norm, "b", 5, Window::square(2), true)), Window::square(2, 2));
  const Problem problem(finish(std::move(build), pool, 3), 4);
  const std::unique_ptr<Model> model = model_of(problem.net);
  const std::unique_ptr<Workspace> workspace = model->workspace();
  std::vector<float> weights = problem.weights, gradient(weights.size());
  for (std::size_t i = 0; i < model->parameters(); i += 3) {
    CAPTURE(i);
    weights[i] = std::numeric_limits<float>::quiet_NaN();
    std::uint64_t correct = 0;
    CHECK(std::isnan(model->gradient(weights.data(), problem.all(), false, gradient.data(), *workspace)));
    CHECK(std::isnan(model->evaluate(weights.data(), problem.all(), correct, *workspace)));
    weights[i] = problem.weights[i];
  }
}

TEST_CASE("onednn: mixed precision rounds weights, inputs, outputs of layers and their gradients" * doctest::skip()) {
  for (const Precision precision : {Precision::fp16, Precision::bf16}) {
    const Problem problem(tangle(16), 4);
    CAPTURE(static_cast<int>(precision));
    std::vector<double> expected, unrounded;
    const double expected_loss = PlainNetwork(problem.net, problem.weights, precision).gradient(problem.all(), expected);
    PlainNetwork(problem.net, problem.weights).gradient(problem.all(), unrounded);
    const std::unique_ptr<Model> model = model_of(problem.net, ConvolutionRule::direct, precision);
    const std::unique_ptr<Workspace> workspace = model->workspace();
    std::vector<float> gradient(problem.weights.size());
    CHECK(model->gradient(problem.weights.data(), problem.all(), false, gradient.data(), *workspace) ==
          doctest::Approx(expected_loss).epsilon(1e-4));
    // A sum in another order may round to the neighbour; that is rare.
    CHECK(distance(gradient, expected) < 0.2 * distance(unrounded, expected));
  }
}

/// Resident memory of this process.
std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * 4096;
}

TEST_CASE("onednn: workspace_bytes is what a workspace takes" * doctest::skip()) {
  const Problem problem(resnet_narrow({1, 1, 1}, 10), 200);
  for (const ConvolutionRule rule : {ConvolutionRule::direct, ConvolutionRule::winograd}) {
    const std::unique_ptr<Model> model = model_of(problem.net, rule);
    const std::unique_ptr<Workspace> workspace = model->workspace();
    std::vector<float> gradient(problem.weights.size());
    const std::size_t said = model->workspace_bytes(problem.rows);  // makes the primitives
    model->gradient(problem.weights.data(), {2, problem.x.data(), problem.labels.data(), problem.scale.data()}, false, gradient.data(),
                    *workspace);
    const std::size_t before = resident_bytes(), small = model->workspace_bytes(2);
    CHECK(said > 4 * small);
    model->gradient(problem.weights.data(), problem.all(), false, gradient.data(), *workspace);
    std::uint64_t correct = 0;
    model->evaluate(problem.weights.data(), problem.all(), correct, *workspace);
    const double took = static_cast<double>(resident_bytes()) + static_cast<double>(small) - static_cast<double>(before);
    if (sanitized) continue;  // AddressSanitizer keeps what was freed
    CHECK(took < 1.1 * static_cast<double>(said));
    CHECK(took > 0.9 * static_cast<double>(said));
  }
}

}  // namespace straggler::test::onednn_network_test
