// Gradients of which few rows are not zero: whatever follows from them has the same bits as if they had been written out in full.
#include <doctest/doctest.h>

#include <array>
#include <atomic>

#include "models/data/word_list.hpp"
#include "models/executor/executor.hpp"
#include "models/executor/single_gradient.hpp"
#include "models/optimizers/optimizer.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test::sparse_gradient_test {
namespace {

constexpr std::size_t words = 2200, width = 13;

DataInfo info() {
  auto vocabulary = std::make_shared<WordList>();
  vocabulary->words.resize(words);
  for (std::size_t i = 0; i < words; ++i) vocabulary->counts.push_back(1000 / (i + 1));
  DataInfo info;
  info.features = 1;
  info.classes = words;
  info.vocabulary = vocabulary;
  return info;
}

Dataset pairs() {
  Dataset data;
  data.info = info();
  data.info.train = 6000;
  RandomStream stream(4, "sparse");
  SampleFloats centres;
  for (std::size_t i = 0; i < data.info.train; ++i) {
    centres.push_back(static_cast<float>(stream.below(words)));
    data.train.labels.push_back(static_cast<std::int32_t>(stream.below(words)));
  }
  data.train.inputs = SampleInputs(std::move(centres), 1);
  return data;
}

std::unique_ptr<Model> skipgram(const Kernels& kernels) {
  const ModelEntry& entry = Registry<ModelEntry>::instance().at("skipgram");
  return entry.make(complete(entry.parameters, {{"dimension", std::int64_t{width}}, {"negatives", std::int64_t{3}}}), info(),
                    ModelSetting{kernels});
}

/// Skip-gram that may hide that it has rows, and counts which gradients it is asked for.
class Watched final : public Model {
 public:
  Watched(const Kernels& kernels, bool sparse) : inner_(skipgram(kernels)), sparse_(sparse) {}
  std::size_t parameters() const override { return inner_->parameters(); }
  std::vector<TensorInfo> tensors() const override { return inner_->tensors(); }
  bool draws() const override { return true; }
  std::vector<LayerCost> cost() const override { return inner_->cost(); }
  std::size_t workspace_bytes(std::size_t rows) const override { return inner_->workspace_bytes(rows); }
  void initialize(std::uint64_t seed, float* weights) const override {
    // Outputs are not zero as word2vec has them: then every row of a gradient counts from the first step on.
    const std::vector<float> values = numbers(parameters(), seed);
    std::copy(values.begin(), values.end(), weights);
  }
  std::unique_ptr<Workspace> workspace() const override { return inner_->workspace(); }
  double gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const override {
    ++dense_calls;
    return inner_->gradient(weights, rows, accumulate, gradient, workspace);
  }
  GradientPattern row_pattern() const override { return sparse_ ? inner_->row_pattern() : GradientPattern{}; }
  void sparse_gradient(const float* weights, const Rows& rows, GradientRows& gradient, Workspace& workspace) const override {
    ++sparse_calls;
    calls_in_terms += gradient.in_terms();
    inner_->sparse_gradient(weights, rows, gradient, workspace);
  }
  double evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace& workspace) const override {
    return inner_->evaluate(weights, rows, correct, workspace);
  }
  mutable std::atomic<int> dense_calls = 0, sparse_calls = 0, calls_in_terms = 0;

 private:
  const std::unique_ptr<Model> inner_;
  const bool sparse_;
};

struct World {
  World(const Kernels& kernels_, bool sparse, unsigned threads, std::size_t budget = 0)
      : kernels(kernels_), model(kernels, sparse), data(pairs()), lineage(Math::lazy, Key{1, 2}) {
    PartitionRequest request;
    request.samples = data.train.count();
    request.workers = 3;
    partition = Registry<PartitionEntry>::instance().at("iid").make({}, request);
    ExecutorOptions options;
    options.threads = threads;
    options.memory_budget = budget;
    executor = std::make_unique<Executor>(lineage, model, data, *partition, kernels, options);
  }
  static Batch batch(std::uint32_t stream, std::uint64_t position, std::uint32_t size) {
    Batch made;
    made.stream = stream;
    made.position = position;
    made.size = size;
    return made;
  }
  std::vector<float> value(const Handle& handle) {
    const auto values = executor->value(handle);
    return {values.begin(), values.end()};
  }

  const Kernels& kernels;
  Watched model;
  Dataset data;
  std::unique_ptr<Partition> partition;
  Lineage lineage;
  std::unique_ptr<Executor> executor;
};

/// A run of steps; what is looked at on the way goes into `seen`.
using Story = void (*)(World& world, std::vector<std::vector<float>>& seen);

std::unique_ptr<UpdateRule> sgd(double momentum, double decay) {
  const OptimizerEntry& entry = Registry<OptimizerEntry>::instance().at("sgd");
  return entry.make(complete(entry.parameters, {{"learning_rate", 0.3}, {"momentum", momentum}, {"weight_decay", decay}}), Schedule());
}

void steps(World& world, std::vector<std::vector<float>>& seen, double momentum, double decay, std::uint32_t size) {
  const auto rule = sgd(momentum, decay);
  Handle weights = world.lineage.initial();
  std::vector<Handle> state;
  for (std::uint32_t i = 0; i < 5; ++i)
    weights = rule->step(world.lineage, weights, world.lineage.gradient(weights, World::batch(0, i * size % 1000, size)), 0, 1, state);
  seen.push_back(world.value(weights));
}

/// Gradients of three workers, at weights that are one step apart, joined by `rule`.
void joined(World& world, std::vector<std::vector<float>>& seen, const Rule& rule, std::initializer_list<double> scalars) {
  const auto step = sgd(0, 0);
  std::vector<Handle> state;
  Handle weights = world.lineage.initial();
  std::vector<Handle> parts;
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    parts.push_back(world.lineage.gradient(weights, World::batch(worker, 0, 4 + worker)));
    weights = step->step(world.lineage, weights, parts.back(), 0, 1, state);
  }
  const Handle all = world.lineage.elementwise(rule, parts, scalars);
  const Handle last = step->step(world.lineage, weights, all, 0, 1, state);
  seen.push_back(world.value(last));
  seen.push_back(world.value(all));
  seen.push_back(world.value(parts[1]));  // written out in full after it was used as rows
  seen.push_back(world.value(step->step(world.lineage, last, parts[1], 0, 1, state)));
  const std::array mixed{all, weights};  // rows, and a vector in full
  seen.push_back(world.value(world.lineage.elementwise(rules::add, mixed)));
}

const std::pair<const char*, Story> stories[] = {
    {"steps of SGD", [](World& world, std::vector<std::vector<float>>& seen) { steps(world, seen, 0, 0, 7); }},
    {"batches of several calls of the model", [](World& world, std::vector<std::vector<float>>& seen) { steps(world, seen, 0, 0, 1024); }},
    {"large batches, in lanes", [](World& world, std::vector<std::vector<float>>& seen) { steps(world, seen, 0, 0, 2000); }},
    {"weight decay", [](World& world, std::vector<std::vector<float>>& seen) { steps(world, seen, 0, 0.1, 7); }},
    {"momentum", [](World& world, std::vector<std::vector<float>>& seen) { steps(world, seen, 0.9, 0.1, 7); }},
    {"a mean", [](World& world, std::vector<std::vector<float>>& seen) { joined(world, seen, rules::mean, {}); }},
    {"a weighted mean", [](World& world, std::vector<std::vector<float>>& seen) { joined(world, seen, rules::weighted_mean, {0.5, 0.2, 0.3}); }},
    {"a ring's mean", [](World& world, std::vector<std::vector<float>>& seen) { joined(world, seen, rules::ring_mean, {}); }},
    {"a fused mean",
     [](World& world, std::vector<std::vector<float>>& seen) {
       const Handle weights = world.lineage.initial();
       std::vector<Handle> state;
       const Handle mean = world.lineage.mean_gradient(weights, {World::batch(0, 0, 20), World::batch(1, 3, 5), World::batch(2, 9, 30)});
       seen.push_back(world.value(sgd(0, 0)->step(world.lineage, weights, mean, 0, 1, state)));
       seen.push_back(world.value(weights));  // was not stepped on
     }},
};

}  // namespace

TEST_CASE("sparse gradients: all that follows from them has the bits of dense ones, on any number of threads") {
  for (const Kernels* kernels : all_kernels())
    for (const auto& story : stories) {
      CAPTURE(kernels->name);
      CAPTURE(story.first);
      std::vector<std::vector<float>> expected;
      World dense(*kernels, false, 1);
      story.second(dense, expected);
      CHECK(dense.model.sparse_calls == 0);
      for (const unsigned threads : {1u, 3u}) {
        World sparse(*kernels, true, threads);
        std::vector<std::vector<float>> seen;
        story.second(sparse, seen);
        REQUIRE(seen.size() == expected.size());
        for (std::size_t i = 0; i < seen.size(); ++i) CHECK(same_bits(seen[i], expected[i]));
        CHECK(sparse.model.sparse_calls == dense.model.dense_calls);
        CHECK(sparse.model.dense_calls == 0);
        CHECK(sparse.model.calls_in_terms ==
              (std::string_view(story.first) == "large batches, in lanes" ? 0 : sparse.model.sparse_calls.load()));
      }
    }
}

TEST_CASE("sparse gradients: a step changes the rows of its pairs alone") {
  World world(select_kernels("auto"), true, 1);
  const Handle weights = world.lineage.initial();
  std::vector<Handle> state;
  const Handle next = sgd(0, 0)->step(world.lineage, weights, world.lineage.gradient(weights, World::batch(0, 0, 2)), 0, 1, state);
  const std::vector<float> before = world.value(weights), after = world.value(next);
  std::size_t changed = 0;
  for (std::size_t row = 0; row < 2 * words; ++row)
    changed += std::memcmp(&before[row * width], &after[row * width], width * sizeof(float)) != 0;
  CHECK(changed >= 2);
  CHECK(changed <= 2 * 5);  // two pairs: a centre, a context and three negatives each
}

TEST_CASE("sparse gradients: a single gradient is written out in full, as the lineage's") {
  for (const std::uint32_t size : {9u, 1900u}) {
    World world(select_kernels("auto"), true, 1);
    const Handle weights = world.lineage.initial();
    const std::vector<float> at = world.value(weights), expected = world.value(world.lineage.gradient(weights, World::batch(1, 0, size)));
    SingleGradient single(world.model, world.data, *world.partition, world.kernels, 1);
    std::vector<float> out(single.length());
    single.compute(at.data(), World::batch(1, 0, size), std::atomic<bool>(false), out.data());
    CHECK(same_bits(out, expected));
  }
}

TEST_CASE("sparse gradients: a gradient written out in full counts in the memory budget") {
  // Room for the values of one step, but not for the gradient in full beside them, which momentum needs.
  const std::size_t value = SparseRows::buffer_floats(2 * words * width, width) * sizeof(float);
  const auto run = [](double momentum, std::size_t budget) {
    World world(select_kernels("auto"), true, 1, budget);
    std::vector<Handle> state;
    const Handle weights = world.lineage.initial();
    world.value(sgd(momentum, 0)->step(world.lineage, weights, world.lineage.gradient(weights, World::batch(0, 0, 4)), 0, 1, state));
  };
  const std::size_t scratch =
      skipgram(select_kernels("auto"))->workspace_bytes(4) + 2 * words * 4 + 2000;  // slots; samples are less than that
  CHECK_NOTHROW(run(0, 3 * value + scratch));
  CHECK_THROWS_AS(run(0.9, 3 * value + scratch), MemoryBudgetExceeded);
  CHECK_NOTHROW(run(0.9, 5 * value + scratch));
}

}  // namespace straggler::test::sparse_gradient_test
