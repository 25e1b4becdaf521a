// A step of SGD that is made while its gradient is computed has the bits of the gradient, the velocity and the descent one after the other:
// in the kernels, in the model, piece by piece, and through the executor, which does so only where nobody else reads the gradient.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "models/executor/executor.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/zoo/panel_network.hpp"
#include "models/zoo/shared_gradient.hpp"
#include "models/zoo/stepped_gradient.hpp"
#include "tests/executor/executor_fakes.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/zoo/networks.hpp"

namespace straggler::test::stepped_gradient_test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Setting {
  float momentum, decay;
  bool first;  // there is no velocity yet
};
constexpr Setting settings[] = {{0, 0, true}, {0, 0.0625f, true}, {0.75f, 0, true}, {0.75f, 0, false}, {0.75f, 0.0625f, false}};

/// The weights and the velocity after a step by the two kernels.
struct Expected {
  std::vector<float> weights, velocity;
  Expected(const Kernels& kernels, const Setting& setting, float rate, const std::vector<float>& g, const std::vector<float>& w,
           const std::vector<float>& v)
      : weights(g.size()), velocity(g.size()) {
    kernels.momentum(g.size(), setting.momentum, setting.decay, g.data(), setting.decay == 0 ? nullptr : w.data(),
                     setting.first ? nullptr : v.data(), velocity.data());
    kernels.descend(g.size(), rate, w.data(), velocity.data(), weights.data());
  }
};

}  // namespace

TEST_CASE("a step in one pass has the bits of momentum and descent, in place or not, and touches its rows alone") {
  constexpr float rate = 0.125f;
  for (const Kernels* kernels : all_kernels())
    for (const Setting& setting : settings)
      for (const std::size_t n : {1u, 15u, 16u, 37u, 1500u}) {
        CAPTURE(kernels->name);
        CAPTURE(n);
        constexpr std::size_t rows = 3, gap = 5;
        const std::size_t stride = n + gap, all = rows * stride;
        const std::vector<float> g = numbers(all, 1), w = numbers(all, 2), v = numbers(all, 3);
        const Expected expected(*kernels, setting, rate, g, w, v);
        const auto within = [&](std::vector<float> inside, const std::vector<float>& outside) {
          for (std::size_t i = 0; i < all; ++i)
            if (i % stride >= n) inside[i] = outside[i];
          return inside;
        };
        for (const bool keep : {true, false}) {
          std::vector<float> w_out(all, 7), v_out(all, 7);
          WeightStep step{rate,
                          setting.momentum,
                          setting.decay,
                          w.data(),
                          setting.first ? nullptr : v.data(),
                          w_out.data(),
                          keep ? v_out.data() : nullptr};
          kernels->step(rows, n, stride, g.data(), step);
          CHECK(same_bits(w_out, within(expected.weights, std::vector<float>(all, 7))));
          if (keep) CHECK(same_bits(v_out, within(expected.velocity, std::vector<float>(all, 7))));
        }
        std::vector<float> weights = w, velocity = v;  // in place
        kernels->step(rows, n, stride, g.data(),
                      {rate, setting.momentum, setting.decay, weights.data(), setting.first ? nullptr : velocity.data(), weights.data(),
                       velocity.data()});
        CHECK(same_bits(weights, within(expected.weights, w)));
        CHECK(same_bits(velocity, within(expected.velocity, v)));
        std::vector<float> gradient = g;  // in the gradient's place
        kernels->step(rows, n, stride, gradient.data(),
                      {rate, setting.momentum, setting.decay, w.data(), setting.first ? nullptr : v.data(), gradient.data(), nullptr});
        CHECK(same_bits(gradient, within(expected.weights, g)));
      }
}

TEST_CASE("a network's gradient and step have the bits of one after the other, on one thread and in pieces") {
  ArchitectureBuilder build({2, 10, 9});
  LayerIndex x = build.max_pool(build.relu(build.conv(network_input, "a", 40, Window::square(3, 1, 1), true)), Window::square(2, 2));
  x = build.average_pool(build.relu(build.conv(x, "b", 72, Window::square(3, 1, 1), false)), Window::square(2, 1));
  build.linear(build.relu(build.linear(build.flatten(x), "c", 37)), "d", 5);
  constexpr float rate = 0.125f;
  for (const Architecture& architecture : {std::move(build).build(), dense_network({784, 200, 200, 10}), dense_network({2, 128, 4})}) {
    const std::size_t features = architecture.input.size();
    for (const Kernels* kernels : tried(all_kernels())) {
      CAPTURE(kernels->name);
      const PanelNetwork model(architecture, {*kernels});
      const SteppedGradient* const stepped = model.stepped();
      REQUIRE(stepped);
      std::vector<float> w(model.length());
      model.initialize(5, w.data());
      const std::vector<float> v = numbers(w.size(), 4), before = numbers(w.size(), 6);
      const std::unique_ptr<Workspace> workspace = model.workspace(), own = model.workspace();
      for (const std::size_t count : {33u, 128u, 250u}) {
        if (sanitized && count != 33) continue;
        CAPTURE(count);
        const std::vector<float> inputs = panels_of(numbers(count * features, 1), count, features, nan), scale = numbers(count, 3);
        const std::vector<std::int32_t> labels = labels_below(architecture.layers.back().out.size(), count, 2);
        const auto rows_from = [&](std::size_t at, std::size_t some) {
          Rows rows;
          rows.count = some;
          rows.panels = inputs.data() + at * features;
          rows.labels = labels.data() + at;
          rows.scale = scale.data() + at;
          return rows;
        };
        for (const bool accumulate : {false, true}) {
          std::vector<float> gradient = before;
          const double loss = model.gradient(w.data(), rows_from(0, count), accumulate, gradient.data(), *workspace);
          for (const Setting& setting : settings) {
            const Expected expected(*kernels, setting, rate, gradient, w, v);
            std::vector<float> room = before, weights = w, velocity = v;
            const WeightStep in_place{
                rate,           setting.momentum, setting.decay, weights.data(), setting.first ? nullptr : velocity.data(),
                weights.data(), velocity.data()};
            CHECK(stepped->gradient_and_step(weights.data(), rows_from(0, count), accumulate, room.data(), in_place, *workspace) == loss);
            CHECK(same_bits(weights, expected.weights));
            CHECK(same_bits(velocity, expected.velocity));

            room = before;  // becomes the weights
            const WeightStep apart{rate,        setting.momentum, setting.decay, w.data(), setting.first ? nullptr : v.data(),
                                   room.data(), nullptr};
            stepped->gradient_and_step(w.data(), rows_from(0, count), accumulate, room.data(), apart, *workspace);
            CHECK(same_bits(room, expected.weights));

            const SharedGradient* const shared = model.shared();
            if (!shared) continue;
            room = before, weights = w, velocity = v;
            const std::unique_ptr<Workspace> values = shared->shared_workspace(256);
            for (std::size_t at = 0; at < count; at += panel_rows)
              shared->pass_panel(at / panel_rows, weights.data(), rows_from(at, std::min(panel_rows, count - at)), *values, *own);
            for (std::size_t i = shared->weight_pieces(); i-- > 0;)
              shared->weight_piece(i, count, inputs.data(), accumulate, room.data(), &in_place, *values, *own);
            CHECK(same_bits(weights, expected.weights));
            CHECK(same_bits(velocity, expected.velocity));
          }
        }
      }
    }
  }
}

TEST_CASE("half precision and bfloat16 are not stepped along as they are computed") {
  for (const Precision precision : {Precision::fp16, Precision::bf16})
    CHECK(PanelNetwork(dense_network({8, 4}), {select_kernels("auto"), precision}).stepped() == nullptr);
}

namespace {

/// A random history of several workers' steps under one optimizer. `hold`: handles to all gradients, which then are values of their own.
struct History {
  std::vector<std::vector<float>> values;
  ExecutorStatistics counts;

  History(std::uint64_t seed, unsigned threads, bool hold, std::size_t budget = 0) {
    RandomStream random(seed, "stepped_gradient");
    const Dataset data = fake::dataset(40, 300, 1);
    const fake::Around partition(300);
    const Kernels& kernels = select_kernels("auto");
    const PanelNetwork model(dense_network({40, 90, 3}), {kernels});
    Lineage lineage(Math::lazy, Key{1, 2});
    ExecutorOptions options;
    options.threads = threads;
    options.seed = 3;
    options.memory_budget = budget;
    Executor executor(lineage, model, data, partition, kernels, options);
    const double momentum = random.below(2) == 0 ? 0 : 0.9, decay = random.below(2) == 0 ? 0 : 0.01;
    Parameters given = {{"learning_rate", 0.05}, {"momentum", momentum}, {"weight_decay", decay}};
    if (momentum > 0 && random.below(3) == 0) given.set("nesterov", true);
    const OptimizerEntry& entry = Registry<OptimizerEntry>::instance().at("sgd");
    const std::unique_ptr<UpdateRule> rule = entry.make(complete(entry.parameters, std::move(given)), {});
    std::vector<Handle> state, gradients, read(3, lineage.initial()), kept;  // [workers]: the weights that they have read
    Handle weights = lineage.initial();
    for (std::uint64_t step = 0; step < 30; ++step) {
      const std::size_t worker = random.below(read.size());
      // Of a panel, of a unit, of several; of more than one lane.
      const std::uint32_t sizes[] = {5, 40, 150, 300, 1100}, size = sizes[random.below(10) < 9 ? random.below(4) : 4];
      Handle gradient = lineage.gradient(read[worker], fake::batch(static_cast<std::uint32_t>(worker), step, size));
      if (random.below(8) == 0 || hold) gradients.push_back(gradient);
      if (random.below(8) == 0) kept.push_back(weights);
      if (random.below(8) == 0 && !state.empty()) kept.push_back(state[0]);
      weights = rule->step(lineage, weights, gradient, 0, 1, state);
      read[worker] = weights;
      gradient = Handle();
      if (random.below(6) == 0) executor.force(weights);
      if (random.below(6) == 0) read[random.below(read.size())] = weights;
    }
    kept.push_back(weights);
    for (const Handle& handle : kept) {
      const auto value = executor.value(handle);
      values.emplace_back(value.begin(), value.end());
    }
    counts = executor.statistics();
    CHECK(lineage.live() - lineage.pending() == counts.values);
  }
};

}  // namespace

TEST_CASE("steps have the same bits whether or not the gradient is a value of its own, on any number of threads") {
  for (std::uint64_t seed = 1; seed <= (sanitized ? 6 : 40); ++seed) {
    CAPTURE(seed);
    const History apart(seed, 1, true);
    for (const unsigned threads : {1u, 2u, 3u}) {
      CAPTURE(threads);
      const History together(seed, threads, false);
      REQUIRE(together.values.size() == apart.values.size());
      for (std::size_t i = 0; i < apart.values.size(); ++i) CHECK(same_bits(together.values[i], apart.values[i]));
      CHECK(together.counts.nodes == apart.counts.nodes);
      CHECK(together.counts.gradient_samples == apart.counts.gradient_samples);
    }
  }
}

TEST_CASE("steps within random budgets have the same bits, or are refused") {
  std::uint64_t refused = 0, done = 0;
  for (std::uint64_t seed = 1; seed <= (sanitized ? 6 : 40); ++seed) {
    CAPTURE(seed);
    const auto threads = static_cast<unsigned>(1 + seed % 3);
    const std::size_t value = 16'000, scratch = 220'000;  // about
    const History plenty(seed, 1, true);
    // Every sixth has too little even for one gradient.
    const std::size_t budget = seed % 6 == 0 ? scratch / 4 : threads * scratch + RandomStream(seed, "budget").below(40) * value;
    try {
      const History tight(seed, threads, false, budget);
      REQUIRE(tight.values.size() == plenty.values.size());
      for (std::size_t i = 0; i < plenty.values.size(); ++i) CHECK(same_bits(tight.values[i], plenty.values[i]));
      ++done;
    } catch (const MemoryBudgetExceeded&) {
      ++refused;
    }
  }
  CHECK(done > 0);
  CHECK(refused > 0);
}

TEST_CASE("a chain of steps of one worker needs the weights and the gradient, and with momentum the velocity") {
  const Dataset data = fake::dataset(40, 300, 1);
  const fake::Around partition(300);
  const Kernels& kernels = select_kernels("auto");
  const PanelNetwork model(dense_network({40, 90, 3}), {kernels});
  for (const bool momentum : {false, true}) {
    Lineage lineage(Math::lazy, Key{1, 2});
    ExecutorOptions options;
    options.threads = 1;
    Executor executor(lineage, model, data, partition, kernels, options);
    const OptimizerEntry& entry = Registry<OptimizerEntry>::instance().at("sgd");
    const std::unique_ptr<UpdateRule> rule =
        entry.make(complete(entry.parameters, {{"learning_rate", 0.05}, {"momentum", momentum ? 0.9 : 0.0}}), {});
    std::vector<Handle> state;
    Handle weights = lineage.initial();
    for (std::uint64_t step = 0; step < 20; ++step)
      weights = rule->step(lineage, weights, lineage.gradient(weights, fake::batch(0, step, 40)), 0, 1, state);
    executor.force(weights);
    const std::size_t most = momentum ? 3 : 2, line = 16;
    CHECK(executor.statistics().peak_value_bytes <= most * ((model.length() + line - 1) / line + 1) * line * sizeof(float));
    CHECK(executor.statistics().values == most - 1);
  }
}

}  // namespace straggler::test::stepped_gradient_test
