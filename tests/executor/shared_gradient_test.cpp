// Gradients that several threads compute together have the bits of those that one thread computes: of the model, piece by piece, and
// through the executor.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "models/executor/executor.hpp"
#include "models/zoo/panel_network.hpp"
#include "models/zoo/shared_gradient.hpp"
#include "tests/executor/executor_fakes.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/zoo/networks.hpp"

namespace straggler::test::shared_gradient_test {
namespace {

/// Convolutions that are cut and not cut, in groups, by Winograd's algorithm and direct, with and without pools and biases.
Architecture mixed() {
  ArchitectureBuilder build({2, 10, 9});
  LayerIndex x = build.max_pool(build.relu(build.conv(network_input, "a", 40, Window::square(3, 1, 1), true)), Window::square(2, 2));
  x = build.relu(build.conv(x, "b", 72, Window::square(3, 1, 1), false));
  x = build.average_pool(x, Window::square(2, 1));
  x = build.max_pool(build.relu(x), Window::square(2, 1, 1));
  x = build.relu(build.linear(build.flatten(x), "c", 37));
  build.linear(x, "d", 5);
  return std::move(build).build();
}

struct Samples {
  std::size_t rows;
  std::vector<float> panels, scale;
  std::vector<std::int32_t> labels;

  Samples(const Architecture& architecture, std::size_t count)
      : rows(count),
        panels(panels_of(numbers(count * architecture.input.size(), 1), count, architecture.input.size(),
                         std::numeric_limits<float>::quiet_NaN())),
        scale(numbers(count, 3)),
        labels(labels_below(architecture.layers.back().out.size(), count, 2)) {}
  Rows from(std::size_t at, std::size_t count, std::size_t features) const {
    Rows some;
    some.count = count;
    some.panels = panels.data() + at * features;
    some.labels = labels.data() + at;
    some.scale = scale.data() + at;
    return some;
  }
};

/// Both rounds backwards, on the workspaces of two threads in turns.
void compute_together(const SharedGradient& shared, const Model& model, const float* weights, const Samples& samples, std::size_t features,
                      bool accumulate, float* gradient) {
  const std::unique_ptr<Workspace> values = shared.shared_workspace(256), own[] = {model.workspace(), model.workspace()};
  const std::size_t panels = (samples.rows + panel_rows - 1) / panel_rows;
  for (std::size_t p = panels; p-- > 0;) {
    const std::size_t at = p * panel_rows;
    shared.pass_panel(p, weights, samples.from(at, std::min(panel_rows, samples.rows - at), features), *values, *own[p % 2]);
  }
  for (std::size_t i = shared.weight_pieces(); i-- > 0;)
    shared.weight_piece(i, samples.rows, samples.panels.data(), accumulate, gradient, nullptr, *values, *own[i % 2]);
}

}  // namespace

TEST_CASE("panels and pieces in any order, on any workspace, give the bits of a gradient in one call") {
  for (const Architecture& architecture : {mixed(), dense_network({784, 200, 200, 10}), dense_network({2, 128, 4}), lenet5()}) {
    const std::size_t features = architecture.input.size();
    for (const Kernels* kernels : all_kernels()) {
      if (sanitized && kernels != all_kernels().back()) continue;
      CAPTURE(kernels->name);
      const PanelNetwork model(architecture, {*kernels});
      const SharedGradient* const shared = model.shared();
      REQUIRE((shared == nullptr) == (kernels->name == "generic"));
      if (!shared) continue;
      std::vector<float> weights(model.length());
      model.initialize(5, weights.data());
      for (const std::size_t rows : {1u, 33u, 100u, 128u, 129u, 250u}) {
        if (sanitized && rows != 33 && rows != 129) continue;
        CAPTURE(rows);
        const Samples samples(architecture, rows);
        std::vector<float> alone(weights.size()), together(weights.size(), std::numeric_limits<float>::quiet_NaN());
        const std::unique_ptr<Workspace> workspace = model.workspace();
        for (const bool accumulate : {false, true}) {
          model.gradient(weights.data(), samples.from(0, rows, features), accumulate, alone.data(), *workspace);
          compute_together(*shared, model, weights.data(), samples, features, accumulate, together.data());
          CHECK(same_bits(together, alone));
        }
      }
    }
  }
}

TEST_CASE("the FedAvg CNN is cut into more pieces than it has layers, and gives the same bits") {
  const Architecture architecture = fedavg_cnn();
  const PanelNetwork model(architecture, {select_kernels("auto")});
  const SharedGradient* const shared = model.shared();
  if (!shared) return;  // no set but `generic` runs here
  CHECK(shared->weight_pieces() > 4);
  std::vector<float> weights(model.length());
  model.initialize(5, weights.data());
  const Samples samples(architecture, 50);
  std::vector<float> alone(weights.size()), together(weights.size());
  model.gradient(weights.data(), samples.from(0, 50, 784), false, alone.data(), *model.workspace());
  compute_together(*shared, model, weights.data(), samples, 784, false, together.data());
  CHECK(same_bits(together, alone));
}

TEST_CASE("half precision and bfloat16 are not shared") {
  for (const Precision precision : {Precision::fp16, Precision::bf16})
    CHECK(PanelNetwork(mixed(), {select_kernels("auto"), precision}).shared() == nullptr);
}

TEST_CASE("a chain of large updates has the same bits under 1, 2, 3 and 5 threads") {
  fake::register_rules();
  const Dataset data = fake::dataset(784, 700, 1);
  const fake::Around partition(700);
  const Kernels& kernels = select_kernels("auto");
  const PanelNetwork model(dense_network({784, 100, 60, 3}), {kernels});
  std::vector<std::vector<float>> first;
  for (const unsigned threads : {1u, 2u, 3u, 5u}) {
    CAPTURE(threads);
    Lineage lineage(Math::lazy, Key{1, 2});
    ExecutorOptions options;
    options.threads = threads;
    options.seed = 3;
    Executor executor(lineage, model, data, partition, kernels, options);
    std::vector<std::vector<float>> values;
    Handle weights = lineage.initial();
    std::uint64_t at = 0;
    // Fewer than a panel, one panel and a sample, a unit of 256, a unit and a sample, several units, and two lanes.
    for (const std::uint32_t size : {20u, 33u, 256u, 257u, 700u, 1023u, 1025u}) {
      std::vector<Batch> batches;
      for (std::uint32_t worker = 0; worker < 3; ++worker)
        batches.push_back(fake::batch(worker * 50, at, size / 3 + (worker < size % 3 ? 1 : 0)));
      at += size;
      const Handle inputs[] = {weights, lineage.mean_gradient(weights, batches)};
      if (size == 257) executor.force(inputs[1]);  // a plan of one gradient
      weights = lineage.elementwise(fake::descend, inputs, {0.05});
      if (size == 257 || size == 1025) {
        const auto now = executor.value(weights);
        values.emplace_back(now.begin(), now.end());
      }
    }
    CHECK(executor.statistics().values == 1);
    CHECK(executor.statistics().gradient_samples == 20 + 33 + 256 + 257 + 700 + 1023 + 1025);
    if (first.empty()) first = values;
    REQUIRE(values.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) CHECK(same_bits(values[i], first[i]));
  }
}

TEST_CASE("where memory does not suffice for the values that threads share, one thread computes the gradient") {
  const Dataset data = fake::dataset(784, 300, 1);
  const fake::Around partition(300);
  const Kernels& kernels = select_kernels("auto");
  const PanelNetwork model(dense_network({784, 100, 3}), {kernels});
  const auto gradient_of = [&](unsigned threads, std::size_t budget) {
    Lineage lineage(Math::lazy, Key{1, 2});
    ExecutorOptions options;
    options.threads = threads;
    options.memory_budget = budget;
    Executor executor(lineage, model, data, partition, kernels, options);
    const auto value = executor.value(lineage.gradient(lineage.initial(), fake::batch(0, 0, 256)));
    return std::vector<float>(value.begin(), value.end());
  };
  // The scratch of one thread for 256 rows: workspace, inputs in panels, and 4 + 4 + 4 + 4 bytes a row. Two values.
  const std::size_t scratch = model.workspace_bytes(256) + 256 * (784 * 4 + 16), value = (model.length() + 16) * 4;
  CHECK(same_bits(gradient_of(2, scratch + 2 * value), gradient_of(1, 0)));
}

}  // namespace straggler::test::shared_gradient_test
