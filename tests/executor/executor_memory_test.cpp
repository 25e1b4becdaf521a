// The executor when memory is short: values that can be made again make room. And weights from elsewhere, and running statistics.
#include <doctest/doctest.h>

#include <optional>

#include "tests/executor/executor_checks.hpp"

namespace executor_memory_test {

using namespace straggler;
using namespace straggler::fake;
using namespace straggler::test;

namespace {

constexpr std::size_t value_bytes = 64;                             // of 9 floats
constexpr std::size_t workspace = 4 * (4 + 8 * 4 + 4 + 4 + 4);      // of one thread, for 4 rows
constexpr std::size_t evaluating = 1000 * (4 + 8 * 4 + 4 + 4 + 4);  // for a chunk of 1,000

/// Ten weights that follow from the same weights and gradient at ten rates, all of them held.
std::vector<Handle> fan(World& world, const Handle& initial, const Handle& gradient) {
  std::vector<Handle> ends;
  for (int i = 1; i <= 10; ++i) ends.push_back(world.step(initial, gradient, 0.01 * i));
  return ends;
}

}  // namespace

TEST_CASE("a refused memory budget leaves everything usable") {
  // 9 floats take 64 bytes. 12 values fit, and one thread's workspace for 4 rows: 4 * (4 + 8 * 4 + 4 + 4 + 4) = 192 bytes.
  for (const unsigned threads : {1u, 2u, 8u}) {
    CAPTURE(threads);
    World world(threads, 8, 3000, 12 * 64 + 192);
    const Handle initial = world.lineage.initial();
    std::vector<Handle> gradients;
    for (std::uint32_t i = 0; i < 20; ++i) gradients.push_back(world.lineage.gradient(initial, batch(i, 0, 4)));
    std::optional<Handle> mean = world.lineage.elementwise(fake::mean, gradients);
    const std::string error = error_of<MemoryBudgetExceeded>([&] { world.executor->force(*mean); });
    CAPTURE(error);
    CHECK(has(error, "the memory budget of 960 B is used up"));
    CHECK(has(error, "values of 64 B each are live"));
    CHECK(has(error, "raise the memory budget"));
    CHECK(error_of<MemoryBudgetExceeded>([&] { world.executor->force(*mean); }) != "");  // and so it is again
    // What was evaluated stays; with fewer values asked for, the same executor goes on.
    CHECK(world.executor->statistics().values == world.lineage.live() - world.lineage.pending());
    mean.reset();
    gradients.resize(3);
    const Handle small = world.lineage.elementwise(fake::mean, gradients);
    std::vector<double> expected(9);
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto one = expected_gradient(world, world.value(initial), {batch(i, 0, 4)});
      for (std::size_t j = 0; j < 9; ++j) expected[j] += one[j] / 3;
    }
    check_close(world.value(small), expected);
    CHECK(world.lineage.pending() == 0);
  }
}

TEST_CASE("what a rule allocates while it is evaluated counts in the budget") {
  const auto refused = [](std::size_t budget) {
    World world(1, 8, 3000, budget);
    const Handle initial = world.lineage.initial(), gradient = world.lineage.gradient(initial, batch(0, 0, 4));
    const Handle next = world.lineage.elementwise(fake::greedy, std::vector{initial, gradient});
    return !error_of<MemoryBudgetExceeded>([&] { world.executor->force(next); }).empty();
  };
  constexpr std::size_t values = 3 * value_bytes + workspace;  // both inputs and the output
  CHECK(refused(values + greedy_bytes - 1));
  CHECK(!refused(values + greedy_bytes));
}

TEST_CASE("a long lineage of many branches needs no more memory on many threads than its order on one") {
  // 40 branches of 20 updates, averaged: one thread needs the 40 ends, the start, a gradient and a weight or two.
  const auto branches = [](World& world) {
    const Handle initial = world.lineage.initial();
    std::vector<Handle> ends;
    for (std::uint32_t branch = 0; branch < 40; ++branch) {
      Handle weights = initial;
      for (std::uint32_t i = 0; i < 20; ++i) weights = world.step(weights, world.lineage.gradient(weights, batch(branch, i, 2)));
      ends.push_back(weights);
    }
    return world.lineage.elementwise(fake::mean, ends);
  };
  World one(1);
  const std::vector<float> expected = one.value(branches(one));
  const std::size_t peak = one.executor->statistics().peak_value_bytes;
  CHECK(peak <= 43 * 64);
  const std::size_t workspace = 2 * (4 + 8 * 4 + 4 + 4 + 4);
  World many(8, 8, 3000, peak + 8 * workspace);
  CHECK(same_bits(many.value(branches(many)), expected));
}

TEST_CASE("a lane of a large gradient that does not fit is refused, and its buffers come back") {
  constexpr std::size_t workspace = 256 * 48;  // of 256 rows
  const std::vector<Batch> large(10, batch(0, 0, 1024));
  for (const unsigned threads : {1u, 4u}) {
    World world(threads, 8, 3000, 2 * 64 + workspace);  // values of 64 bytes
    const Handle initial = world.lineage.initial();
    CHECK_THROWS_AS(world.executor->force(world.lineage.mean_gradient(initial, large)), MemoryBudgetExceeded);
    CHECK(world.executor->statistics().values == 1);
    check_close(world.value(world.lineage.mean_gradient(initial, {batch(0, 0, 1024)})),  // one lane
                expected_gradient(world, world.value(initial), {batch(0, 0, 1024)}));
  }
}

TEST_CASE("lanes are added in order as soon as those before them are, so their number takes no memory, to the same bits") {
  std::vector<Batch> large;
  for (std::uint32_t i = 0; i < 10; ++i) large.push_back(batch(i, 0, 1024));
  std::vector<float> expected;
  for (const unsigned threads : {1u, 4u}) {
    World world(threads, 8, 3000, 3 * 64 + 256 * 48);  // the weights, the sum, a lane and the workspace of 256 rows
    const Handle initial = world.lineage.initial();
    const std::vector<float> gradient = world.value(world.lineage.mean_gradient(initial, large));
    if (expected.empty()) expected = gradient;
    check_close(gradient, expected_gradient(world, world.value(initial), large));
    CHECK(same_bits(gradient, expected));
    CHECK(world.executor->statistics().values == world.lineage.live());
  }
  for (int attempt = 0; attempt < 20; ++attempt) {  // threads that run ahead of each other
    World world(4);
    world.model.meeting = 3;
    CHECK(same_bits(world.value(world.lineage.mean_gradient(world.lineage.initial(), large)), expected));
    CHECK(world.executor->statistics().values == world.lineage.live());
  }
}

TEST_CASE("values that follow from others by a rule make room and are made again, to the same bits") {
  for (const unsigned threads : {1u, 2u}) {
    CAPTURE(threads);
    World plenty(1), tight(threads, 8, 3000, 6 * value_bytes + threads * workspace);
    std::vector<std::vector<float>> expected;
    {
      const Handle initial = plenty.lineage.initial(), gradient = plenty.lineage.gradient(initial, batch(0, 0, 4));
      for (const Handle& end : fan(plenty, initial, gradient)) expected.push_back(plenty.value(end));
    }
    const Handle initial = tight.lineage.initial(), gradient = tight.lineage.gradient(initial, batch(0, 0, 4));
    const std::vector<Handle> ends = fan(tight, initial, gradient);
    // Twelve values are asked for and stay asked for; six fit.
    for (int round = 0; round < 3; ++round)
      for (std::size_t i = 0; i < ends.size(); ++i) CHECK(same_bits(tight.value(ends[i]), expected[i]));
    const ExecutorStatistics counts = tight.executor->statistics();
    CHECK(counts.set_aside > 0);
    CHECK(counts.remade > 0);
    CHECK(counts.remade <= counts.set_aside);
    CHECK(counts.peak_value_bytes <= 6 * value_bytes + threads * workspace);
    CHECK(counts.nodes == 12);  // each counted once
    CHECK(tight.lineage.pending() == 0);
    // What follows from a value that was set aside.
    for (std::size_t i = 0; i < ends.size(); i += 3) {
      const Handle next = tight.step(ends[i], gradient, 0.5);
      const std::vector<float> step = tight.value(gradient), next_values = tight.value(next);
      for (std::size_t j = 0; j < 9; ++j) CHECK(next_values[j] == expected[i][j] - 0.5f * step[j]);
    }
  }
}

TEST_CASE("a value that is held stays in its place, however short memory is, and is set aside once nobody holds it") {
  World tight(1, 8, 3000, 6 * value_bytes + workspace);
  const Handle initial = tight.lineage.initial(), gradient = tight.lineage.gradient(initial, batch(0, 0, 4));
  const std::vector<Handle> ends = fan(tight, initial, gradient);
  const auto remade_for_one = [&](const Handle& end) {
    for (const Handle& each : ends)
      if (each.key() != end.key()) tight.executor->force(each);
    const std::uint64_t before = tight.executor->statistics().remade;
    tight.executor->force(end);
    return tight.executor->statistics().remade - before;
  };
  for (const Handle& end : ends) {
    std::shared_ptr<const float> held = tight.executor->hold(end);
    const std::vector<float> before(held.get(), held.get() + 9);
    CHECK(remade_for_one(end) == 0);
    CHECK(tight.executor->value(end).data() == held.get());
    CHECK(std::equal(before.begin(), before.end(), held.get()));
  }
  std::uint64_t remade = 0;
  for (const Handle& end : ends) remade += remade_for_one(end);
  CHECK(remade > 0);
}

TEST_CASE("with memory for all nothing is set aside; without inputs to make it of, nothing can be") {
  World plenty(1);
  const Handle initial = plenty.lineage.initial(), gradient = plenty.lineage.gradient(initial, batch(0, 0, 4));
  for (const Handle& end : fan(plenty, initial, gradient)) plenty.executor->force(end);
  CHECK(plenty.executor->statistics().set_aside == 0);

  World tight(1, 8, 3000, 6 * value_bytes + workspace);
  std::vector<Handle> gradients;  // costly: never set aside
  const Handle start = tight.lineage.initial();
  for (std::uint32_t i = 0; i < 5; ++i) gradients.push_back(tight.lineage.gradient(start, batch(i, 0, 4)));
  for (const Handle& each : gradients) tight.executor->force(each);
  const Handle one_more = tight.lineage.gradient(start, batch(9, 0, 4));
  CHECK_THROWS_AS(tight.executor->force(one_more), MemoryBudgetExceeded);
}

TEST_CASE("the initial weights come from the seed again; an evaluation keeps the weights that it looks at") {
  World tight(1, 8, 3000, 4 * value_bytes + workspace + evaluating - value_bytes);
  const Handle initial = tight.lineage.initial();
  const std::vector<float> first = tight.value(initial);
  const Handle gradient = tight.lineage.gradient(initial, batch(0, 0, 4));
  std::vector<Handle> held;
  Handle weights = initial;
  for (int i = 0; i < 3; ++i) {
    weights = tight.step(weights, gradient, 0.1 * (i + 1));
    held.push_back(weights);
    tight.executor->force(weights);
  }
  World plenty(1);
  const Handle same = plenty.lineage.initial();
  Handle expected = same;
  for (int i = 0; i < 3; ++i) {
    expected = plenty.step(expected, plenty.lineage.gradient(same, batch(0, 0, 4)), 0.1 * (i + 1));
    CHECK(same_bits(tight.value(held[static_cast<std::size_t>(i)]), plenty.value(expected)));
  }
  CHECK(tight.executor->evaluate(weights, EvaluationSet::test).loss == plenty.executor->evaluate(expected, EvaluationSet::test).loss);
  CHECK(same_bits(tight.value(initial), first));
}

TEST_CASE("random lineages within random budgets: the same bits as without a budget, or a refusal") {
  std::uint64_t remade = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "executor_memory");
    const unsigned threads = 1 + static_cast<unsigned>(random.below(3));
    const std::size_t budget = (5 + random.below(12)) * value_bytes + threads * workspace;
    World plenty(1), tight(threads, 8, 3000, budget);
    std::vector<std::pair<Handle, Handle>> held = {{plenty.lineage.initial(), tight.lineage.initial()}};
    for (int step = 0; step < 60; ++step) {
      const auto pick = [&]() -> std::pair<Handle, Handle> { return held[random.below(held.size())]; };
      const auto a = pick(), b = pick();
      const auto size = static_cast<std::uint32_t>(1 + random.below(4));
      switch (random.below(4)) {
        case 0:
          held.emplace_back(plenty.lineage.gradient(a.first, batch(size, 0, size)), tight.lineage.gradient(a.second, batch(size, 0, size)));
          break;
        case 1:
        case 2:
          held.emplace_back(plenty.step(a.first, b.first, 0.01), tight.step(a.second, b.second, 0.01));
          break;
        default: {
          const std::vector<Handle> first = {a.first, b.first}, second = {a.second, b.second};
          held.emplace_back(plenty.lineage.elementwise(fake::mean, first), tight.lineage.elementwise(fake::mean, second));
        }
      }
      if (held.size() > 8) held.erase(held.begin() + static_cast<std::ptrdiff_t>(random.below(held.size())));
      const auto look = pick();
      try {
        const std::vector<float> value = tight.value(look.second);
        CHECK(same_bits(value, plenty.value(look.first)));
      } catch (const MemoryBudgetExceeded&) {
        ++refused;
      }
    }
    CHECK(tight.executor->statistics().peak_value_bytes <= budget);
    held.clear();
    CHECK(tight.lineage.live() == 0);  // no value outlives its handles
    CHECK(tight.lineage.pending() == 0);
    remade += tight.executor->statistics().remade;
  }
  CHECK(remade > 0);
  CHECK(refused < 60 * 60 / 2);
}

namespace {

/// Two parameters and one running statistic, whose batch value is the number of rows.
class WithStatistics final : public Model {
 public:
  std::size_t parameters() const override { return 2; }
  std::vector<TensorInfo> tensors() const override { return {{"w", {2}, 0}}; }
  std::size_t statistics() const override { return 1; }
  std::vector<TensorInfo> buffers() const override { return {{"running_mean", {1}, 2}}; }
  std::vector<LayerCost> cost() const override { return {}; }
  std::size_t workspace_bytes(std::size_t) const override { return 0; }
  void initialize(std::uint64_t, float* weights) const override {
    for (int i = 0; i < 3; ++i) weights[i] = static_cast<float>(i);
  }
  std::unique_ptr<Workspace> workspace() const override { return std::make_unique<Workspace>(); }
  double gradient(const float*, const Rows& rows, bool, float* gradient, Workspace&) const override {
    gradient[0] = gradient[1] = 1;
    gradient[2] = static_cast<float>(rows.count);
    return 0;
  }
  double evaluate(const float*, const Rows&, std::uint64_t&, Workspace&) const override { return 0; }
  bool couples_samples() const override { return true; }
};

std::vector<float> mean_of(bool exchange, std::span<const float> start = {}) {
  register_rules();
  const WithStatistics model;
  const Dataset data = dataset(1, 100, 10);
  const Around partition(100);
  const Kernels naive = kernels();
  Lineage lineage(Math::lazy, Key{1, 2});
  ExecutorOptions options;
  options.threads = 1;
  options.exchange_statistics = exchange;
  options.initial_weights = start;
  Executor executor(lineage, model, data, partition, naive, options);
  const Handle initial = lineage.initial();
  const std::vector<Handle> gradients = {lineage.gradient(initial, batch(0, 0, 4)), lineage.gradient(initial, batch(1, 0, 8))};
  const Handle mean = start.empty() ? lineage.elementwise(fake::mean, gradients) : initial;
  const std::span<const float> values = executor.value(mean);
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("running statistics are averaged where they are exchanged; else those of the first contribution count") {
  CHECK(mean_of(true) == std::vector<float>{1, 1, 6});
  CHECK(mean_of(false) == std::vector<float>{1, 1, 4});
}

TEST_CASE("training starts from given weights, statistics included; they must be as long as the model's") {
  const std::vector<float> start = {5, 6, 7};
  CHECK(mean_of(true, start) == start);
  CHECK_THROWS_AS(mean_of(true, std::span(start).first(2)), std::logic_error);
}

}  // namespace executor_memory_test
