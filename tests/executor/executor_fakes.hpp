// A small model, naive kernels, a partition and two rules, so that the executor can be tested without the real ones.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "models/executor/executor.hpp"
#include "models/rules/elementwise.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"

namespace straggler::fake {

/// Least squares with a bias: loss_i = (w · x_i + b - label_i)² / 2. A row is right when the prediction rounds to its label.
class LeastSquares final : public Model {
 public:
  explicit LeastSquares(std::size_t features, bool couples = false) : features_(features), couples_(couples) {}
  std::size_t parameters() const override { return features_ + 1; }
  std::vector<TensorInfo> tensors() const override { return {{"w", {features_}, 0}, {"b", {1}, features_}}; }
  std::vector<LayerCost> cost() const override {
    return flops > 0 ? std::vector<LayerCost>{{"all", 0, flops, 0}} : std::vector<LayerCost>();
  }
  std::size_t workspace_bytes(std::size_t rows) const override { return rows * 4; }
  void initialize(std::uint64_t seed, float* weights) const override {
    RandomStream random(seed, "fake/initial");
    for (std::size_t i = 0; i < parameters(); ++i) weights[i] = static_cast<float>(random.uniform() - 0.5);
  }
  std::unique_ptr<Workspace> workspace() const override { return std::make_unique<Workspace>(); }
  double gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace&) const override {
    ++gradients;
    if (log_rows) {
      const std::lock_guard lock(mutex_);
      logged.push_back(rows.count);
    }
    if (meeting > 0) meet();
    if (fail_after > 0 && --fail_after == 0) throw std::runtime_error("the fake model was told to fail");
    if (!accumulate) std::fill_n(gradient, parameters(), 0.0f);
    double loss = 0;
    for (std::size_t i = 0; i < rows.count; ++i) {
      const float* x = rows.inputs + i * features_;
      const float error = residual(weights, x, rows.labels[i]);
      loss += rows.scale[i] * error * error / 2;
      for (std::size_t j = 0; j < features_; ++j) gradient[j] += rows.scale[i] * error * x[j];
      gradient[features_] += rows.scale[i] * error;
    }
    return loss;
  }
  double evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace&) const override {
    ++evaluations;
    double loss = 0;
    for (std::size_t i = 0; i < rows.count; ++i) {
      const float error = residual(weights, rows.inputs + i * features_, rows.labels[i]);
      loss += error * error / 2;
      correct += std::abs(error) < 0.5f;
    }
    return loss;
  }
  bool couples_samples() const override { return couples_; }
  float residual(const float* weights, const float* x, std::int32_t label) const {
    float score = weights[features_];
    for (std::size_t j = 0; j < features_; ++j) score += weights[j] * x[j];
    return score - static_cast<float>(label);
  }

  mutable std::atomic<int> gradients = 0, evaluations = 0, fail_after = 0;
  double flops = 0;  // of a forward pass of a sample; 0: unknown
  bool log_rows = false;
  mutable std::vector<std::size_t> logged;  // rows of each call of gradient
  unsigned meeting = 0;                     // number of calls of gradient that wait for each other
  mutable bool met = false;

 private:
  void meet() const {
    std::unique_lock lock(mutex_);
    if (++inside_ >= meeting) met = true;
    arrived_.notify_all();
    arrived_.wait_for(lock, std::chrono::seconds(20), [this] { return met; });
  }

  const std::size_t features_;
  const bool couples_;
  mutable std::mutex mutex_;
  mutable std::condition_variable arrived_;
  mutable unsigned inside_ = 0;
};

/// Only what the executor itself calls.
inline Kernels kernels() {
  Kernels made{};
  made.name = "fake";
  made.weighted_sum = [](std::size_t n, std::size_t count, const float* const* x, const float* scale, float* out) {
    for (std::size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::size_t i = 0; i < count; ++i) sum += scale[i] * x[i][j];
      out[j] = sum;
    }
  };
  return made;
}

inline const Rule descend{"fake_descend"};  // x_1 - scalars[0] x_2, instead of x_1
inline const Rule mean{"fake_mean"};        // of all inputs, in order
inline const Rule greedy{"fake_greedy"};    // the first input, with greedy_bytes of memory of its own
inline constexpr std::size_t greedy_bytes = 320;
inline const Rule unheard_of{"fake_unheard_of"};  // not registered

inline void register_rules() {
  auto& registry = Registry<ElementwiseEntry>::instance();
  if (registry.find("fake_descend")) return;
  registry.add(
      {"fake_descend",
       "for the executor's tests",
       {},
       0,
       StatisticsRule::combine,
       0,
       [](const Kernels&, const Extent& extent, const std::vector<const float*>& in, const std::vector<double>& scalars, float* out) {
         for (std::size_t j = 0; j < extent.n; ++j) out[j] = in[0][j] - static_cast<float>(scalars[0]) * in[1][j];
       }});
  registry.add({.name = "fake_greedy",
                .summary = "for the executor's tests",
                .parameters = {},
                .apply = [](const Kernels&, const Extent& extent, const std::vector<const float*>& in, const std::vector<double>&,
                            float* out) { std::copy_n(in[0], extent.n, out); },
                .scratch_bytes = [](const Extent&) { return greedy_bytes; }});
  registry.add({"fake_mean",
                "for the executor's tests",
                {},
                -1,
                StatisticsRule::combine,
                0,
                [](const Kernels&, const Extent& extent, const std::vector<const float*>& in, const std::vector<double>&, float* out) {
                  for (std::size_t j = 0; j < extent.n; ++j) {
                    float sum = 0;
                    for (const float* x : in) sum += x[j];
                    out[j] = sum / static_cast<float>(in.size());
                  }
                }});
}

/// Stream s draws samples s, s + 1, s + 2, … of the training set, around and around.
class Around final : public Partition {
 public:
  explicit Around(std::size_t samples) {
    sizes_.shared = true;
    sizes_.total = samples;
  }
  const StreamSizes& sizes() const override { return sizes_; }
  void samples(const Batch& batch, std::vector<std::uint32_t>& out) const override {
    out.resize(batch.size);
    for (std::uint32_t i = 0; i < batch.size; ++i) out[i] = static_cast<std::uint32_t>((batch.stream + batch.position + i) % sizes_.total);
  }

 private:
  StreamSizes sizes_;
};

inline Dataset dataset(std::size_t features, std::size_t train, std::size_t test, std::size_t validation = 0) {
  Dataset data;
  data.info.features = features;
  data.info.classes = 3;
  data.info.train = train;
  data.info.test = test;
  RandomStream random(1, "fake/data");
  for (const auto& [split, count] : {std::pair(&data.train, train), std::pair(&data.test, test), std::pair(&data.validation, validation)}) {
    SampleFloats inputs;
    for (std::size_t i = 0; i < count * features; ++i) inputs.push_back(static_cast<float>(random.uniform() - 0.5));
    split->inputs = SampleInputs(std::move(inputs), features);
    for (std::size_t i = 0; i < count; ++i) split->labels.push_back(static_cast<std::int32_t>(random.below(3)));
  }
  return data;
}

inline Batch batch(std::uint32_t stream, std::uint64_t position, std::uint32_t size) {
  Batch made;
  made.stream = stream;
  made.position = position;
  made.size = size;
  return made;
}

/// Everything that an executor needs. Members are destroyed in reverse: the executor before the lineage.
struct World {
  explicit World(unsigned threads, std::size_t features = 8, std::size_t train = 3000, std::size_t budget = 0, bool couples = false,
                 std::size_t train_subset = 10'000, bool choose_threads = false)
      : model(features, couples), data(dataset(features, train, 2500)), partition(train), naive(kernels()), lineage(Math::lazy, Key{1, 2}) {
    register_rules();
    ExecutorOptions options;
    options.threads = threads;
    options.choose_threads = choose_threads;
    options.memory_budget = budget;
    options.train_subset = train_subset;
    options.seed = 3;
    executor = std::make_unique<Executor>(lineage, model, data, partition, naive, options);
  }
  Handle step(const Handle& weights, const Handle& gradient, double rate = 0.1) {
    const Handle inputs[] = {weights, gradient};
    return lineage.elementwise(descend, inputs, {rate});
  }
  std::vector<float> value(const Handle& handle) {
    const auto values = executor->value(handle);
    return {values.begin(), values.end()};
  }

  LeastSquares model;
  Dataset data;
  Around partition;
  Kernels naive;
  Lineage lineage;
  std::unique_ptr<Executor> executor;
};

}  // namespace straggler::fake
