// The quadratic bowl against what is known of it in closed form.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "models/executor/executor.hpp"
#include "models/optimizers/optimizer.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/floats.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test::quadratic_test {
namespace {

/// SGD on a quadratic, step by step. Members are destroyed in reverse.
struct Bowl {
  Bowl(std::size_t dimensions, std::size_t samples, double condition, double start)
      : data(load(dimensions, samples)), lineage(Math::lazy, Key{1, 2}) {
    const Parameters parameters = {{"condition", condition}, {"start", start}};
    const Kernels& kernels = select_kernels("auto");
    model = Registry<ModelEntry>::instance().at("quadratic").make(parameters, data.info, ModelSetting{kernels});
    PartitionRequest request;
    request.samples = samples;
    request.classes = 1;
    partition = Registry<PartitionEntry>::instance().at("iid").make({}, request);
    ExecutorOptions options;
    options.threads = 1;
    executor = std::make_unique<Executor>(lineage, *model, data, *partition, kernels, options);
    mean.assign(dimensions, 0.0);
    variance.assign(dimensions, 0.0);
    const auto n = static_cast<double>(samples);
    const std::vector<float> inputs = test::floats(data.train);
    for (std::size_t i = 0; i < inputs.size(); ++i) mean[i % dimensions] += inputs[i] / n;
    for (std::size_t i = 0; i < inputs.size(); ++i) variance[i % dimensions] += std::pow(inputs[i] - mean[i % dimensions], 2) / n;
    for (std::size_t j = 0; j < dimensions; ++j)
      curvature.push_back(dimensions == 1 ? 1 : std::pow(condition, -static_cast<double>(j) / static_cast<double>(dimensions - 1)));
  }
  static Dataset load(std::size_t dimensions, std::size_t samples) {
    const DataEntry& entry = Registry<DataEntry>::instance().at("gaussian");
    return entry.load(complete(entry.parameters, {{"features", static_cast<std::int64_t>(dimensions)},
                                                  {"classes", std::int64_t{1}},
                                                  {"samples", static_cast<std::int64_t>(samples)},
                                                  {"test_samples", std::int64_t{10}}}),
                      ".", 1, 1);
  }
  /// One step of SGD with a gradient taken at `at`.
  Handle step(const Handle& weights, const Handle& at, double rate, std::uint64_t position, std::uint32_t size) {
    Batch batch;
    batch.position = position;
    batch.size = size;
    const OptimizerEntry& sgd = Registry<OptimizerEntry>::instance().at("sgd");
    if (!rule)
      rule =
          sgd.make(complete(sgd.parameters, {{"learning_rate", rate}}), Schedule([](double) { return 1.0; }, Schedule::Scaling::none, 0));
    std::vector<Handle> state;
    return rule->step(lineage, weights, lineage.gradient(at, batch), 0, 1, state);
  }
  std::vector<double> off(const Handle& weights) {
    std::vector<double> distance;
    const auto values = executor->value(weights);
    for (std::size_t j = 0; j < mean.size(); ++j) distance.push_back(static_cast<double>(values[j]) - mean[j]);
    return distance;
  }

  Dataset data;
  std::unique_ptr<Model> model;
  std::unique_ptr<Partition> partition;
  std::unique_ptr<UpdateRule> rule;
  Lineage lineage;
  std::unique_ptr<Executor> executor;
  std::vector<double> mean, variance, curvature;
};

}  // namespace

TEST_CASE("quadratic: the gradient is A (w - mean), the loss least at the mean, half the weighted variance there") {
  Bowl bowl(5, 300, 16, 3);
  std::vector<float> weights = numbers(5, 3), gradient(5), at_mean;
  const std::vector<float> scale(300, 1.0f / 300);
  const auto workspace = bowl.model->workspace();
  const Rows rows{300, bowl.data.train.inputs.rows(0, 300, nullptr), bowl.data.train.labels.data(), scale.data()};
  const double loss = bowl.model->gradient(weights.data(), rows, false, gradient.data(), *workspace);
  double expected = 0, least = 0;
  for (std::size_t j = 0; j < 5; ++j) {
    const double off = static_cast<double>(weights[j]) - bowl.mean[j];
    CHECK(gradient[j] == doctest::Approx(bowl.curvature[j] * off).epsilon(1e-5));
    least += bowl.curvature[j] * bowl.variance[j] / 2;
    expected += bowl.curvature[j] * off * off / 2;
    at_mean.push_back(static_cast<float>(bowl.mean[j]));
  }
  CHECK(loss == doctest::Approx(least + expected).epsilon(1e-6));
  // Added to what is there.
  std::vector<float> twice = gradient;
  bowl.model->gradient(weights.data(), rows, true, twice.data(), *workspace);
  for (std::size_t j = 0; j < 5; ++j) CHECK(twice[j] == doctest::Approx(2 * gradient[j]));
  std::uint64_t correct = 0;
  CHECK(bowl.model->evaluate(at_mean.data(), rows, correct, *workspace) / 300 == doctest::Approx(least).epsilon(1e-6));
  CHECK(correct == 0);
  std::vector<float> initial(5);
  bowl.model->initialize(9, initial.data());
  CHECK(initial == std::vector<float>(5, 3.0f));
}

TEST_CASE("quadratic: gradient descent contracts each coordinate by 1 - lr a") {
  Bowl bowl(4, 200, 8, 5);
  const double rate = 0.5;
  Handle weights = bowl.lineage.initial();
  const std::vector<double> first = bowl.off(weights);
  for (std::uint64_t t = 0; t < 12; ++t) weights = bowl.step(weights, weights, rate, 200 * t, 200);
  const std::vector<double> last = bowl.off(weights);
  for (std::size_t j = 0; j < 4; ++j)
    CHECK(last[j] / first[j] == doctest::Approx(std::pow(1 - rate * bowl.curvature[j], 12)).epsilon(1e-3));
}

TEST_CASE("quadratic: SGD ends with the variance lr a v / (b (2 - lr a)) around the optimum") {
  const std::size_t dimensions = 3, samples = 50'000;
  const std::uint32_t size = 2;
  const double rate = 0.6;
  Bowl bowl(dimensions, samples, 4, 0);
  Handle weights = bowl.lineage.initial();
  std::vector<double> squares(dimensions, 0.0);
  const std::uint64_t warm = 200, steps = 30'000;
  for (std::uint64_t t = 0; t < warm + steps; ++t) {
    weights = bowl.step(weights, weights, rate, size * t, size);
    if (t < warm) continue;
    const std::vector<double> off = bowl.off(weights);
    for (std::size_t j = 0; j < dimensions; ++j) squares[j] += off[j] * off[j] / static_cast<double>(steps);
  }
  for (std::size_t j = 0; j < dimensions; ++j) {
    const double a = rate * bowl.curvature[j], expected = a * bowl.variance[j] / (size * (2 - a));
    // The square of an AR(1) process with coefficient q = 1 - a: its mean over T steps has the relative variance
    // 2 (1 + q²) / ((1 - q²) T). Batches of an epoch do not repeat samples, which takes about steps to forget / batches of an epoch off.
    const double q = 1 - a, noise = std::sqrt(2 * (1 + q * q) / ((1 - q * q) * static_cast<double>(steps)));
    const double repeats = 2 / a / (static_cast<double>(samples) / size);
    CAPTURE(j);
    CHECK(std::abs(squares[j] / expected - 1) < 5 * noise + repeats);
  }
}

TEST_CASE("quadratic: with gradients that are k steps old, descent is stable up to lr a = 2 sin(π / (4 k + 2)) and not beyond") {
  // Levin and May, "A note on difference-delay equations", Theoretical Population Biology 9, 1976: of x[n+1] = x[n] - q x[n-k].
  for (const std::size_t stale : {0u, 1u, 3u, 7u})
    for (const double of_bound : {0.95, 1.05}) {
      CAPTURE(stale);
      CAPTURE(of_bound);
      Bowl bowl(1, 10, 1, 100);
      const double rate = of_bound * 2 * std::sin(std::numbers::pi / (4 * static_cast<double>(stale) + 2));
      std::vector<Handle> versions{bowl.lineage.initial()};
      double early = 0, late = 0;
      for (std::size_t t = 0; t < 400; ++t) {
        const Handle at = versions[versions.size() > stale ? versions.size() - 1 - stale : 0];
        versions.push_back(bowl.step(versions.back(), at, rate, 10 * t, 10));
        const double distance = std::abs(bowl.off(versions.back())[0]);
        if (t < 100) early = std::max(early, distance);
        if (t >= 300) late = std::max(late, distance);
      }
      if (of_bound < 1)
        CHECK(late < early / 2);
      else
        CHECK(late > early * 2);
    }
}

}  // namespace straggler::test::quadratic_test
