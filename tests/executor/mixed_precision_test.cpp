// Gradients in FP16 and the dynamic loss scale, which lives in registers of the weights. A model whose gradient is its inputs, whatever
// the weights, makes every number here exact.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "models/optimizers/optimizer.hpp"
#include "models/zoo/multilayer_perceptron.hpp"
#include "models/zoo/panel_network.hpp"
#include "tests/executor/executor_fakes.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test::mixed_precision_test {
namespace {

/// loss_i = w · x_i with two weights, and one running statistic: the mean of the first input.
class Linear final : public Model {
 public:
  std::size_t parameters() const override { return 2; }
  std::size_t statistics() const override { return 1; }
  std::vector<TensorInfo> tensors() const override { return {{"w", {1, 2}, 0}}; }
  std::vector<LayerCost> cost() const override { return {}; }
  std::size_t workspace_bytes(std::size_t) const override { return 0; }
  void initialize(std::uint64_t, float* weights) const override { weights[0] = 3, weights[1] = -3, weights[2] = 1; }
  std::unique_ptr<Workspace> workspace() const override { return std::make_unique<Workspace>(); }
  double gradient(const float*, const Rows& rows, bool accumulate, float* gradient, Workspace&) const override {
    if (!accumulate) std::fill_n(gradient, 3, 0.0f);
    for (std::size_t i = 0; i < rows.count; ++i) {
      gradient[0] += rows.scale[i] * rows.inputs[2 * i];
      gradient[1] += rows.scale[i] * rows.inputs[2 * i + 1];
      gradient[2] += rows.scale[i] * rows.inputs[2 * i];
    }
    return 0;
  }
  double evaluate(const float*, const Rows&, std::uint64_t&, Workspace&) const override { return 0; }
};

/// Sample k of the training set has the inputs x[k]; batch(k) draws it alone.
struct World {
  World(std::vector<std::array<float, 2>> x, const Numerics& numerics, unsigned threads = 1, const Kernels& set = select_kernels("auto"))
      : partition(x.size()), kernels(set), lineage(Math::lazy, Key{1, 2}) {
    data.info.features = 2;
    data.info.classes = 1;
    data.info.train = x.size();
    SampleFloats inputs;
    for (const std::array<float, 2>& row : x) inputs.insert(inputs.end(), row.begin(), row.end());
    data.train.inputs = SampleInputs(std::move(inputs), 2);
    data.train.labels.resize(x.size());
    ExecutorOptions options;
    options.threads = threads;
    options.numerics = numerics;
    executor = std::make_unique<Executor>(lineage, model, data, partition, kernels, options);
  }
  Handle gradient(const Handle& weights, std::uint64_t k, std::uint32_t size = 1) {
    return lineage.gradient(weights, fake::batch(0, k, size));
  }
  std::vector<float> value(const Handle& handle) {
    const auto values = executor->value(handle);
    return {values.begin(), values.end()};
  }
  Linear model;
  Dataset data;
  fake::Around partition;
  const Kernels& kernels;
  Lineage lineage;
  std::unique_ptr<Executor> executor;
};

using Floats = std::vector<float>;
constexpr Precision fp16 = Precision::fp16;

std::unique_ptr<UpdateRule> make(const char* kind, Parameters given) {
  const OptimizerEntry& entry = Registry<OptimizerEntry>::instance().at(kind);
  return entry.make(complete(entry.parameters, std::move(given)), Schedule());
}

}  // namespace

TEST_CASE("a gradient in fp16 is rounded as it is sent; a fixed scale saves small numbers and costs large ones") {
  const std::vector<std::array<float, 2>> x = {{0x1p-26f, 1 + 0x1p-12f}, {0x1p-24f, 100}, {70000, 1}};
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    World plain(x, {.precision = fp16}, 1, *kernels);
    const Handle w = plain.lineage.initial();
    CHECK(plain.value(w) == Floats{3, -3, 1});
    CHECK(plain.value(plain.gradient(w, 0)) == Floats{0, 1, 0x1p-26f});  // statistics are not rounded
    CHECK(plain.value(plain.gradient(w, 1)) == Floats{0x1p-24f, 100, 0x1p-24f});
    CHECK(std::isinf(plain.value(plain.gradient(w, 2))[0]));
    World scaled(x, {.precision = fp16, .loss_scale = 1024}, 1, *kernels);
    const Handle v = scaled.lineage.initial();
    CHECK(scaled.value(scaled.gradient(v, 0)) == Floats{0x1p-26f, 1, 0x1p-26f});
    CHECK(std::isinf(scaled.value(scaled.gradient(v, 1))[1]));  // 102,400 is beyond 65,504
    World brain(x, {.precision = Precision::bf16}, 1, *kernels);
    const Handle u = brain.lineage.initial();
    CHECK(brain.value(brain.gradient(u, 0)) == Floats{0x1p-26f, 1, 0x1p-26f});
    CHECK(brain.value(brain.gradient(u, 2))[0] == 70144.0f);  // 2^16 + 9 * 2^9
  }
}

TEST_CASE("the loss scale halves where a gradient overflows, and nothing else moves; it doubles after `growth_every` good updates") {
  // With x = (100, 1): a scale of 1,024 makes 102,400, too much; 512 makes 51,200.
  const std::vector<std::array<float, 2>> x(16, {100, 1});
  for (const Kernels* kernels : all_kernels())
    for (const double momentum : {0.0, 0.5}) {
      CAPTURE(kernels->name);
      CAPTURE(momentum);
      World world(x, {.precision = fp16, .loss_scale = 1024, .growth_every = 2}, 1, *kernels);
      const auto rule = make("sgd", {{"learning_rate", 0x1p-10}, {"momentum", momentum}});
      Handle weights = world.lineage.initial();
      CHECK(world.value(weights) == Floats{3, -3, 1, 1024, 0, 0});
      std::vector<Handle> state;
      std::uint64_t skipped = 0;
      double w0 = 3, w1 = -3, v = 0, statistic = 1;
      // Overflow, good, good (and doubles), and so again.
      const std::array<std::array<double, 3>, 7> scales = {
          {{0, 512, 0}, {1, 512, 1}, {1, 1024, 0}, {0, 512, 0}, {1, 512, 1}, {1, 1024, 0}, {0, 512, 0}}};
      for (std::size_t step = 0; step < scales.size(); ++step) {
        CAPTURE(step);
        const bool good = scales[step][0] == 1;
        const Handle gradient = world.gradient(weights, step);
        CHECK(world.value(gradient)[3] == (good ? 1.0f : 0.0f));
        CHECK(std::isfinite(world.value(gradient)[0]) == good);
        weights = rule->step(world.lineage, weights, gradient, 0, 1, state);
        if (good) {
          v = momentum * v + 1;  // in units of the gradient
          w0 -= 0x1p-10 * 100 * v;
          w1 -= 0x1p-10 * v;
          statistic += 0.1f * (100 - statistic);
        }
        const Floats now = world.value(weights);
        REQUIRE(now.size() == 6);
        CHECK(now[0] == doctest::Approx(w0).epsilon(1e-6));
        CHECK(now[1] == doctest::Approx(w1).epsilon(1e-6));
        CHECK(now[2] == doctest::Approx(statistic).epsilon(1e-6));
        CHECK(now[3] == static_cast<float>(scales[step][1]));
        CHECK(now[4] == static_cast<float>(scales[step][2]));
        const std::optional<LossScale> told = world.executor->loss_scale(weights);
        REQUIRE(told);
        CHECK(told->scale == scales[step][1]);
        CHECK(told->skipped == (skipped += !good));
        if (!state.empty()) CHECK(world.value(state[0])[1] == doctest::Approx(v).epsilon(1e-6));
      }
    }
}

TEST_CASE("a skipped update does not count for Adam's bias correction nor for Adagrad's steps, whether it is the first or a later one") {
  const std::vector<std::array<float, 2>> x = {{100, 1}, {2, 1}, {100, 1}, {100, 1}, {4, -1}};  // at 1,024, then 512, 512, 256
  for (const char* kind : {"adam", "adamw", "adagrad", "lars"}) {
    CAPTURE(kind);
    const std::size_t registers = Registry<OptimizerEntry>::instance().at(kind).registers;
    const auto rule = make(kind, {{"learning_rate", 0.25}, {"weight_decay", 0.5}});
    World mixed(x, {.precision = fp16, .loss_scale = 0x1p11, .growth_every = 1000, .optimizer_registers = registers});
    World plain(x, {.precision = Precision::fp32, .optimizer_registers = registers});
    Handle w = mixed.lineage.initial(), v = plain.lineage.initial();
    std::vector<Handle> mixed_state, plain_state;
    for (std::size_t step = 0; step < x.size(); ++step) {
      w = rule->step(mixed.lineage, w, mixed.gradient(w, step), 0, 1, mixed_state);
      const bool skipped = step == 0 || step == 2;  // 2^11 and 2^10 times 100 are too much, 2^9 is not
      if (!skipped) v = rule->step(plain.lineage, v, plain.gradient(v, step), 0, 1, plain_state);
      Floats ours = mixed.value(w);
      CHECK(ours[3 + registers] == (step < 2 ? 1024.0f : 512.0f));
      ours.resize(3 + registers);
      CHECK(ours == plain.value(v));
      for (std::size_t k = 0; k < plain_state.size(); ++k) {
        Floats state = mixed.value(mixed_state[k]);
        state.resize(3 + registers);
        Floats expected = plain.value(plain_state[k]);
        state[2] = expected[2] = 0;  // statistics carried along; of no use there
        CHECK(state == expected);
      }
    }
  }
}

TEST_CASE("of several weights the smallest scale counts; a mean or a sum with one infinite gradient moves nothing") {
  const std::vector<std::array<float, 2>> x = {{1, 1}, {100, 1}, {3, 1}};
  World world(x, {.precision = fp16, .loss_scale = 1024, .growth_every = 100});
  const auto rule = make("sgd", {{"learning_rate", 0.5}});
  const Handle start = world.lineage.initial(), good = world.gradient(start, 0), bad = world.gradient(start, 1),
               other = world.gradient(start, 2);
  std::vector<Handle> none;
  for (const Rule* mean : {&rules::mean, &rules::ring_mean, &rules::weighted_mean, &rules::add}) {
    CAPTURE(mean->name);
    const std::vector<double> shares = mean == &rules::weighted_mean ? std::vector{0.5, 0.5} : std::vector<double>{};
    const Handle spoilt = world.lineage.elementwise(*mean, std::array{good, bad}, shares);
    CHECK(world.value(rule->step(world.lineage, start, spoilt, 0, 1, none)) == Floats{3, -3, 1, 512, 0, 1});
    const Handle whole = world.lineage.elementwise(*mean, std::array{good, other}, shares);
    const float sum = mean == &rules::add ? 4 : 2;
    const Floats stepped = world.value(rule->step(world.lineage, start, whole, 0, 1, none));
    CHECK(stepped[0] == 3 - sum / 2);
    CHECK(stepped[3] == 1024);
    CHECK(stepped[4] == 1);
    CHECK(stepped[5] == 0);
  }
  const Handle once = rule->step(world.lineage, start, good, 0, 1, none), twice = rule->step(world.lineage, once, other, 0, 1, none);
  const Handle halved = rule->step(world.lineage, once, bad, 0, 1, none);
  CHECK(world.value(twice)[4] == 2);
  const Floats mean = world.value(world.lineage.elementwise(rules::mean, std::array{twice, halved, once}));
  CHECK(mean[3] == 512);
  CHECK(mean[4] == 0);
  CHECK(mean[5] == 1);  // of the one that skipped most: what its scale comes from
  CHECK(world.value(world.lineage.elementwise(rules::mean, std::array{twice, once}))[4] == 1);
}

TEST_CASE("a gradient over many samples is rounded once, when its lanes are added, for any number of threads") {
  std::vector<std::array<float, 2>> x;
  for (const float number : numbers(3000, 1)) x.push_back({number, number * 0x1p-20f});
  Floats first;
  for (const unsigned threads : {1u, 2u, 5u}) {
    World world(x, {.precision = fp16, .loss_scale = 65536, .growth_every = 10}, threads);
    const Floats gradient = world.value(world.gradient(world.lineage.initial(), 0, 3000));
    if (first.empty()) first = gradient;
    CHECK(gradient == first);
    CHECK(gradient[3] == 1);
    double mean = 0;
    for (const std::array<float, 2>& row : x) mean += static_cast<double>(row[0]) / 3000;
    CHECK(std::abs(gradient[0] - mean) <= std::abs(mean) * 0x1p-11 + 1e-7);
    for (std::size_t i = 0; i < 2; ++i) CHECK(gradient[i] * 65536 == from_fp16(to_fp16(gradient[i] * 65536)));
    CHECK(gradient[2] != gradient[0]);  // the statistic has all of its bits
  }
}

TEST_CASE("a perceptron in fp16 rounds weights, inputs, outputs and their derivatives, and nothing else") {
  constexpr std::size_t in = 30, hidden = 24, out = 5, rows = 16;
  const auto rounded = [](double x) { return static_cast<double>(from_fp16(to_fp16(static_cast<float>(x)))); };
  const std::vector<float> x = numbers(rows * in, 1), w = numbers(in * hidden + hidden + hidden * out + out, 2);
  const std::vector<std::int32_t> labels = labels_below(out, rows, 3);
  const std::vector<float> scale(rows, 64.0f);
  const float *const w1 = w.data(), *const b1 = w1 + in * hidden, *const w2 = b1 + hidden, *const b2 = w2 + hidden * out;
  for (const bool rounds : {false, true}) {
    const auto kept = [&](double number) { return rounds ? rounded(number) : number; };
    std::vector<double> expected(w.size());
    double loss = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      std::vector<double> input(in), middle(hidden), scores(out), error(out);
      for (std::size_t i = 0; i < in; ++i) input[i] = kept(x[r * in + i]);
      for (std::size_t h = 0; h < hidden; ++h) {
        double sum = kept(b1[h]);
        for (std::size_t i = 0; i < in; ++i) sum += kept(w1[h * in + i]) * input[i];
        middle[h] = kept(std::max(sum, 0.0));
      }
      double total = 0;
      for (std::size_t o = 0; o < out; ++o) {
        scores[o] = kept(b2[o]);
        for (std::size_t h = 0; h < hidden; ++h) scores[o] += kept(w2[o * hidden + h]) * middle[h];
        scores[o] = kept(scores[o]);
        total += std::exp(scores[o]);
      }
      const auto label = static_cast<std::size_t>(labels[r]);
      loss += 64 * (std::log(total) - scores[label]);
      for (std::size_t o = 0; o < out; ++o) {
        error[o] = kept(64 * (std::exp(scores[o]) / total - (o == label ? 1 : 0)));
        expected[in * hidden + hidden + hidden * out + o] += error[o];
        for (std::size_t h = 0; h < hidden; ++h) expected[in * hidden + hidden + o * hidden + h] += error[o] * middle[h];
      }
      for (std::size_t h = 0; h < hidden; ++h) {
        double below = 0;
        for (std::size_t o = 0; o < out; ++o) below += kept(w2[o * hidden + h]) * error[o];
        below = middle[h] > 0 ? kept(below) : 0;
        expected[in * hidden + h] += below;
        for (std::size_t i = 0; i < in; ++i) expected[h * in + i] += below * input[i];
      }
    }
    for (const Kernels* kernels : all_kernels()) {
      CAPTURE(kernels->name);
      const PanelNetwork model(multilayer_perceptron({in, hidden, out}), {*kernels, fp16});
      const auto workspace = model.workspace();
      std::vector<float> gradient(w.size());
      const double got = model.gradient(w.data(), {rows, x.data(), labels.data(), scale.data()}, false, gradient.data(), *workspace);
      // A sum on the edge between two numbers of the format may round the other way: rare, so that far more agrees than without.
      if (rounds) {
        CHECK(distance(gradient, expected) < 5e-5);
        CHECK(got == doctest::Approx(loss).epsilon(1e-5));
        std::uint64_t correct = 0;
        CHECK(model.evaluate(w.data(), {rows, x.data(), labels.data()}, correct, *workspace) == doctest::Approx(loss / 64).epsilon(1e-5));
      } else {
        CHECK(distance(gradient, expected) > 1e-4);
        CHECK(distance(gradient, expected) < 2e-3);
      }
    }
  }
}

}  // namespace straggler::test::mixed_precision_test
