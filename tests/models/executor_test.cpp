// The executor: values, memory, threads, evaluation. Runs on a small model of its own (executor_fakes.hpp).
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "models/data/permutation.hpp"
#include "models/executor/single_gradient.hpp"
#include "tests/models/executor_fakes.hpp"

using namespace straggler;
using namespace straggler::fake;

namespace {

/// The mean gradient over batches, in double precision.
std::vector<double> expected_gradient(const World& world, const std::vector<float>& weights, const std::vector<Batch>& batches) {
  const std::size_t features = world.data.info.features;
  std::vector<double> gradient(features + 1);
  for (const Batch& batch : batches) {
    std::vector<std::uint32_t> samples;
    world.partition.samples(batch, samples);
    for (const std::uint32_t sample : samples) {
      const float* x = world.data.train.inputs.data() + sample * features;
      double error = double{weights[features]} - world.data.train.labels[sample];
      for (std::size_t j = 0; j < features; ++j) error += double{weights[j]} * x[j];
      const double scale = 1.0 / static_cast<double>(batches.size()) / batch.size;
      for (std::size_t j = 0; j < features; ++j) gradient[j] += scale * error * x[j];
      gradient[features] += scale * error;
    }
  }
  return gradient;
}

void check_close(const std::vector<float>& actual, const std::vector<double>& expected, double tolerance = 1e-5) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) CHECK(std::abs(actual[i] - expected[i]) < tolerance);
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <class Error, class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("initial weights come from the seed, a gradient from its samples, an update from its rule") {
  World world(1);
  const Handle initial = world.lineage.initial();
  std::vector<float> weights(9);
  world.model.initialize(3, weights.data());
  CHECK(same_bits(world.value(initial), weights));

  const Handle gradient = world.lineage.gradient(initial, batch(0, 40, 20));
  const std::vector<float> values = world.value(gradient);
  check_close(values, expected_gradient(world, weights, {batch(0, 40, 20)}));

  const std::vector<float> updated = world.value(world.step(initial, gradient, 0.25));
  for (std::size_t i = 0; i < 9; ++i) CHECK(updated[i] == weights[i] - 0.25f * values[i]);
  CHECK(world.executor->statistics().nodes == 3);
  CHECK(world.executor->statistics().gradient_samples == 20);
}

TEST_CASE("a fused gradient is the mean of the batches' mean gradients, also of unequal batches") {
  World world(1);
  const Handle initial = world.lineage.initial();
  const std::vector<Batch> batches = {batch(0, 0, 7), batch(100, 50, 32), batch(2, 2000, 1)};
  const std::vector<float> fused = world.value(world.lineage.mean_gradient(initial, batches));
  check_close(fused, expected_gradient(world, world.value(initial), batches));
  std::vector<double> mean(9);
  for (const Batch& one : batches) {
    const std::vector<float> alone = world.value(world.lineage.gradient(initial, one));
    for (std::size_t i = 0; i < 9; ++i) mean[i] += alone[i] / 3.0;
  }
  check_close(fused, mean);
}

TEST_CASE("up to 256 rows are one call of the model, more than 1,024 are equal parts, whatever the threads") {
  for (const unsigned threads : {1u, 2u, 8u}) {
    CAPTURE(threads);
    World world(threads, 3);
    world.model.log_rows = true;
    const Handle initial = world.lineage.initial();
    const auto calls = [&](std::vector<Batch> batches) {
      world.model.logged.clear();
      const Handle gradient = world.lineage.mean_gradient(initial, batches);
      check_close(world.value(gradient), expected_gradient(world, world.value(initial), batches));
      std::vector<std::size_t> rows = world.model.logged;
      std::sort(rows.begin(), rows.end());
      return rows;
    };
    using Sizes = std::vector<std::size_t>;
    CHECK(calls({batch(0, 0, 256)}) == Sizes{256});
    CHECK(calls({batch(0, 0, 257)}) == Sizes{1, 256});
    CHECK(calls({batch(0, 0, 512), batch(1, 0, 256), batch(2, 0, 256)}) == Sizes(4, 256));
    // Two parts of 512 and 513 rows, each in blocks of 256.
    CHECK(calls({batch(0, 0, 1025)}) == Sizes{1, 256, 256, 256, 256});
    // Three parts of 700.
    CHECK(calls({batch(0, 0, 1000), batch(1, 0, 1000), batch(2, 0, 100)}) == Sizes{188, 188, 188, 256, 256, 256, 256, 256, 256});
    // 40,000 rows in 40 parts of 1,000, dealt to 16 lanes: each is 3 blocks of 256 and one of 232.
    Sizes blocks(40, 232);
    blocks.insert(blocks.end(), 120, 256);
    CHECK(calls(std::vector<Batch>(20, batch(5, 0, 2000))) == blocks);
    CHECK(world.executor->statistics().values == 1);  // the initial weights alone
  }
}

TEST_CASE("where layers couple samples, each batch is one call") {
  World world(2, 3, 3000, 0, true);
  world.model.log_rows = true;
  const Handle initial = world.lineage.initial();
  const std::vector<Batch> batches = {batch(0, 0, 2000), batch(1, 0, 10)};
  check_close(world.value(world.lineage.gradient(initial, batches[0])), expected_gradient(world, world.value(initial), {batches[0]}));
  CHECK(world.model.logged == std::vector<std::size_t>{2000});
  world.model.logged.clear();
  check_close(world.value(world.lineage.mean_gradient(initial, batches)), expected_gradient(world, world.value(initial), batches));
  std::sort(world.model.logged.begin(), world.model.logged.end());
  CHECK(world.model.logged == std::vector<std::size_t>{10, 2000});
}

TEST_CASE("the same bits for any number of threads, on random lineages") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    std::vector<std::vector<float>> first;
    for (const unsigned threads : {1u, 2u, 3u, 8u}) {
      CAPTURE(threads);
      World world(threads, 5);
      RandomStream random(seed, "dag");
      std::vector<Handle> known = {world.lineage.initial()};
      for (int i = 0; i < 300; ++i) {
        const auto any = [&] { return known[random.below(known.size())]; };
        const Handle weights = any();
        switch (random.below(4)) {
          case 0:
            known.push_back(world.lineage.gradient(
                weights, batch(static_cast<std::uint32_t>(random.below(100)), 0, static_cast<std::uint32_t>(1 + random.below(40)))));
            break;
          case 1:
            known.push_back(world.lineage.mean_gradient(weights, {batch(1, random.below(100), 700), batch(2, random.below(100), 700)}));
            break;
          case 2: {
            const Handle inputs[] = {any(), any(), any()};
            known.push_back(world.lineage.elementwise(fake::mean, inputs));
            break;
          }
          default:
            known.push_back(world.step(weights, any(), 0.01));
        }
        if (random.below(3) == 0)
          known.erase(known.begin() + static_cast<std::ptrdiff_t>(random.below(known.size())));  // so that buffers are reused
        if (random.below(40) == 0) world.executor->force(known.back());
      }
      std::vector<std::vector<float>> values;
      for (const Handle& handle : known) values.push_back(world.value(handle));
      if (first.empty()) first = values;
      REQUIRE(values.size() == first.size());
      for (std::size_t i = 0; i < values.size(); ++i) CHECK(same_bits(values[i], first[i]));
      const std::size_t live = world.lineage.live();
      CHECK(world.lineage.pending() == 0);
      CHECK(world.executor->statistics().values == live);
      known.clear();
      CHECK(world.executor->statistics().values == 0);
      CHECK(world.lineage.live() == 0);
    }
  }
}

TEST_CASE("what does not depend on each other runs at the same time") {
  for (const bool large : {false, true}) {  // gradients of four workers; four lanes of one large gradient
    CAPTURE(large);
    World world(4);
    world.model.meeting = 4;  // the first four calls wait until all four have begun
    const Handle initial = world.lineage.initial();
    std::vector<Handle> gradients;
    for (std::uint32_t i = 0; i < 4; ++i) gradients.push_back(world.lineage.gradient(initial, batch(i, 0, 4)));
    if (large) {
      world.executor->force(world.lineage.mean_gradient(initial, std::vector<Batch>(4, batch(0, 0, 1024))));
    } else {
      world.executor->force(world.lineage.elementwise(fake::mean, gradients));
    }
    CHECK(world.model.met);
  }
}

TEST_CASE("a node is evaluated once, however many look at it") {
  World world(4);
  const Handle initial = world.lineage.initial();
  const Handle gradient = world.lineage.gradient(initial, batch(0, 0, 8)), twin = world.lineage.gradient(initial, batch(0, 0, 8));
  const Handle a = world.step(initial, gradient, 0.1), b = world.step(initial, twin, 0.2), c = world.step(a, gradient, 0.3);
  world.executor->force(c);
  world.executor->force(b);
  world.executor->force(twin);
  CHECK(world.model.gradients == 1);
  CHECK(world.executor->statistics().nodes == 5);
}

TEST_CASE("a chain of a million updates neither recurses nor grows") {
  for (const unsigned threads : {1u, 2u}) {
    const unsigned updates = threads == 1 ? 1'000'000 : 100'000;
    CAPTURE(threads);
    World world(threads, 3);
    Handle weights = world.lineage.initial();
    const Handle gradient = world.lineage.gradient(weights, batch(0, 0, 4));
    for (unsigned i = 0; i < updates; ++i) weights = world.step(weights, gradient, 1e-9 * (1 + i % 3));
    CHECK(world.lineage.pending() == updates + 2);
    world.executor->force(weights);
    CHECK(world.lineage.pending() == 0);
    CHECK(world.lineage.live() == 2);
    // The initial weights, the gradient, and one update in the place of the one before; nothing else is ever live.
    const ExecutorStatistics statistics = world.executor->statistics();
    CHECK(statistics.values == 2);
    CHECK(statistics.peak_value_bytes == 2 * 64);
    CHECK(statistics.nodes == updates + 2);
  }
}

TEST_CASE("a chain that nobody looked at is dropped without being evaluated") {
  World world(2, 3);
  Handle weights = world.lineage.initial();
  for (std::uint32_t i = 0; i < 100'000; ++i) weights = world.step(weights, world.lineage.gradient(weights, batch(i, 0, 1)));
  weights = Handle();
  CHECK(world.lineage.live() == 0);
  CHECK(world.lineage.pending() == 0);
  CHECK(world.executor->statistics().nodes == 0);
}

TEST_CASE("buffers are reused in place only when nobody else holds the input") {
  World world(1);
  const Handle gradient = world.lineage.gradient(world.lineage.initial(), batch(0, 0, 8));
  Handle weights = world.lineage.initial();
  world.executor->force(gradient);
  const std::vector<float> before = world.value(weights);
  CHECK(world.executor->statistics().values == 2);

  const Handle held = world.step(weights, gradient);  // `weights` is held: a buffer of its own
  world.executor->force(held);
  CHECK(world.executor->statistics().values == 3);
  CHECK(same_bits(world.value(weights), before));

  const Handle self = world.step(held, held, 0.5);  // an input twice
  const std::vector<float> twice = world.value(self), once = world.value(held);
  for (std::size_t i = 0; i < twice.size(); ++i) CHECK(twice[i] == once[i] - 0.5f * once[i]);

  // An unevaluated consumer holds its input as well as a handle does.
  Handle next = world.step(weights, gradient, 0.2);
  const Handle consumer = world.step(weights, gradient, 0.3);
  weights = Handle();
  world.executor->force(next);
  const std::vector<float> values = world.value(consumer), g = world.value(gradient);  // now it may take the buffer over
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == before[i] - 0.3f * g[i]);
  CHECK(world.executor->statistics().values == 5);  // gradient, held, self, next, consumer
  CHECK(world.executor->statistics().values == world.lineage.live());
}

TEST_CASE("a span stays valid while its handle lives, and buffers are aligned to 64 bytes") {
  World world(2, 5);
  const Handle initial = world.lineage.initial();
  std::vector<Handle> kept;
  for (std::uint32_t i = 0; i < 50; ++i) kept.push_back(world.lineage.gradient(initial, batch(i, 0, 3)));
  for (const Handle& handle : kept) CHECK(reinterpret_cast<std::uintptr_t>(world.executor->value(handle).data()) % 64 == 0);
}

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
    CHECK(contains(error, "the memory budget of 960 B is used up"));
    CHECK(contains(error, "values of 64 B each are live"));
    CHECK(contains(error, "raise the memory budget"));
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
  for (const unsigned threads : {1u, 4u}) {
    World world(threads, 8, 3000, 8 * 64 + 256 * 48);  // 8 values, and a workspace for 256 rows
    const Handle initial = world.lineage.initial();
    CHECK_THROWS_AS(world.executor->force(world.lineage.mean_gradient(initial, std::vector<Batch>(10, batch(0, 0, 1024)))),
                    MemoryBudgetExceeded);
    CHECK(world.executor->statistics().values == 1);
    check_close(world.value(world.lineage.mean_gradient(initial, std::vector<Batch>(4, batch(0, 0, 1024)))),
                expected_gradient(world, world.value(initial), {batch(0, 0, 1024)}));
  }
}

TEST_CASE("what the model throws reaches the caller, and the executor goes on") {
  for (const unsigned threads : {1u, 2u, 8u})
    for (const std::uint32_t rows : {4u, 3000u}) {  // whole gradients, and lanes of large ones
      CAPTURE(threads);
      CAPTURE(rows);
      World world(threads);
      const Handle initial = world.lineage.initial();
      std::vector<Handle> gradients;
      for (std::uint32_t i = 0; i < 12; ++i) gradients.push_back(world.lineage.gradient(initial, batch(i, 0, rows)));
      const Handle mean = world.lineage.elementwise(fake::mean, gradients);
      world.model.fail_after = 6;
      CHECK(error_of<std::runtime_error>([&] { world.executor->force(mean); }) == "the fake model was told to fail");
      CHECK(world.executor->statistics().values == world.lineage.live() - world.lineage.pending());
      CHECK(world.lineage.pending() > 0);
      world.executor->force(mean);
      CHECK(world.lineage.pending() == 0);
      CHECK(world.executor->statistics().values == 14);
    }
}

TEST_CASE("what cannot be evaluated is refused before anything is") {
  World world(2);
  const Handle initial = world.lineage.initial();
  CHECK_THROWS_AS(world.executor->force(Handle()), std::logic_error);
  Lineage keys(Math::none, Key{1, 2});
  CHECK_THROWS_AS(world.executor->force(keys.initial()), std::logic_error);
  Lineage other(Math::lazy, Key{1, 2});
  CHECK_THROWS_AS(world.executor->force(other.initial()), std::logic_error);
  CHECK_THROWS_AS(world.executor->force(world.lineage.gradient(initial, batch(0, 0, 0))), std::logic_error);
  CHECK_THROWS_AS(world.executor->force(world.lineage.mean_gradient(initial, {})), std::logic_error);
  const Handle leaf = world.lineage.make(Formula(), {});
  CHECK_THROWS_AS(world.executor->force(world.step(initial, leaf)), std::logic_error);
  const std::string unknown =
      error_of<std::invalid_argument>([&] { world.executor->force(world.lineage.elementwise(unheard_of, std::span(&initial, 1))); });
  CHECK(contains(unknown, "fake_unheard_of"));
  CHECK(contains(unknown, "fake_descend"));
  CHECK(world.executor->statistics().nodes == 0);
  world.executor->force(world.step(initial, world.lineage.gradient(initial, batch(0, 0, 4))));
  CHECK(world.executor->statistics().nodes == 3);
}

TEST_CASE("handles may outlive the executor") {
  World world(1);
  const Handle initial = world.lineage.initial();
  Handle step = world.step(initial, world.lineage.gradient(initial, batch(0, 0, 4)));
  world.executor->force(step);
  world.executor.reset();
  step = Handle();
  CHECK(world.lineage.live() == 1);
}

TEST_CASE("evaluation: mean loss and share of right rows over each set") {
  for (const unsigned threads : {1u, 2u, 8u}) {
    CAPTURE(threads);
    World world(threads, 8, 3000, 0, false, 1200);
    const Handle weights = world.lineage.initial();
    const std::vector<float> values = world.value(weights);
    const auto over = [&](const DataSplit& split, const std::vector<std::uint32_t>& rows) {
      Evaluation expected;
      for (const std::uint32_t row : rows) {
        const float error = world.model.residual(values.data(), split.inputs.data() + row * 8, split.labels[row]);
        expected.loss += error * error / 2 / static_cast<double>(rows.size());
        expected.accuracy += std::abs(error) < 0.5f ? 1 / static_cast<double>(rows.size()) : 0;
      }
      return expected;
    };
    const auto all = [](std::size_t count) {
      std::vector<std::uint32_t> rows(count);
      std::iota(rows.begin(), rows.end(), 0u);
      return rows;
    };
    const auto check = [&](EvaluationSet set, const Evaluation& expected, int chunks) {
      world.model.evaluations = 0;
      const Evaluation actual = world.executor->evaluate(weights, set);
      CHECK(actual.loss == doctest::Approx(expected.loss).epsilon(1e-6));
      CHECK(actual.accuracy == doctest::Approx(expected.accuracy).epsilon(1e-9));
      CHECK(world.model.evaluations == chunks);  // of at most 1,000 rows
      const Evaluation again = world.executor->evaluate(weights, set);
      CHECK(again.loss == actual.loss);
      CHECK(world.model.evaluations == chunks);  // known: nothing is done
    };
    check(EvaluationSet::test, over(world.data.test, all(2500)), 3);
    check(EvaluationSet::train, over(world.data.train, all(3000)), 3);
    check(EvaluationSet::train_subset, over(world.data.train, choose(1200, 3000, RandomStream(3, "evaluate/train_subset"))), 2);
    CHECK(world.executor->statistics().evaluations == 3);
    CHECK(contains(error_of<std::invalid_argument>([&] { world.executor->evaluate(weights, EvaluationSet::validation); }), "held out"));
    // Other weights are not confused with these.
    const Handle other = world.step(weights, world.lineage.gradient(weights, batch(0, 0, 100)), 0.5);
    CHECK(world.executor->evaluate(other, EvaluationSet::test).loss != world.executor->evaluate(weights, EvaluationSet::test).loss);
  }
}

TEST_CASE("evaluation gives the same bits for any number of threads, and a subset of everything is everything") {
  std::vector<double> losses;
  for (const unsigned threads : {1u, 2u, 8u}) {
    World world(threads, 8, 3000, 0, false, 5000);
    const Handle weights = world.lineage.initial();
    losses.push_back(world.executor->evaluate(weights, EvaluationSet::test).loss);
    CHECK(losses.back() == losses.front());
    CHECK(world.executor->evaluate(weights, EvaluationSet::train_subset).loss ==
          world.executor->evaluate(weights, EvaluationSet::train).loss);
  }
}

TEST_CASE("training by the executor lowers the loss") {
  World world(2);
  Handle weights = world.lineage.initial();
  const double before = world.executor->evaluate(weights, EvaluationSet::test).loss;
  for (std::uint32_t i = 0; i < 200; ++i) {
    std::vector<Handle> gradients;
    for (std::uint32_t worker = 0; worker < 4; ++worker)
      gradients.push_back(world.lineage.gradient(weights, batch(worker * 700, i * 16, 16)));
    weights = world.step(weights, world.lineage.elementwise(fake::mean, gradients), 0.1);
  }
  CHECK(world.executor->evaluate(weights, EvaluationSet::test).loss < before / 2);
}

TEST_CASE("a value that was computed elsewhere is taken as it is: a leaf's, or another node's, whose inputs go") {
  World world(1);
  std::vector<float> given(9);
  for (std::size_t i = 0; i < 9; ++i) given[i] = static_cast<float>(i) / 8;
  const Handle leaf = world.lineage.leaf(Key{5, 6});
  CHECK_THROWS_AS(world.value(leaf), std::logic_error);
  world.executor->give(leaf, given);
  CHECK(same_bits(world.value(leaf), given));
  CHECK_THROWS_AS(world.executor->give(world.lineage.leaf(Key{5, 7}), std::span(given).first(8)), std::logic_error);

  Handle gradient = world.lineage.gradient(leaf, batch(0, 0, 4));
  const Handle next = world.step(leaf, gradient);
  world.executor->give(gradient, given);  // whatever it would have come to
  CHECK(world.model.gradients == 0);
  const std::vector<float> updated = world.value(next);
  for (std::size_t i = 0; i < 9; ++i) CHECK(updated[i] == given[i] - 0.1f * given[i]);
  world.executor->give(next, std::vector<float>(9, 1.0f));  // has its value already
  CHECK(same_bits(world.value(next), updated));

  // A mean whose parts nobody has: names only.
  const std::array parts{world.lineage.leaf(Key{6, 1}), world.lineage.leaf(Key{6, 2})};
  const std::size_t before = world.executor->statistics().values;
  Handle mean = world.lineage.elementwise(fake::mean, parts);
  world.executor->give(mean, given);
  CHECK(same_bits(world.value(mean), given));
  CHECK(mean.node()->inputs.empty());
  mean = Handle();
  CHECK(world.executor->statistics().values == before);
}

TEST_CASE("a single gradient has the bits of the lineage's, and can be called off") {
  World world(2);
  const Handle initial = world.lineage.initial();
  const std::vector<float> weights = world.value(initial);
  SingleGradient single(world.model, world.data, world.partition, world.naive, 3);
  REQUIRE(single.length() == 9);
  std::atomic<bool> cancelled = false;
  for (const std::uint32_t rows :
       {1u, 300u, 2500u, 20'000u}) {  // one call of the model, several, several lanes, more lanes than one has parts
    CAPTURE(rows);
    std::vector<float> gradient(9);
    single.compute(weights.data(), batch(1, 7, rows), cancelled, gradient.data());
    CHECK(same_bits(gradient, world.value(world.lineage.gradient(initial, batch(1, 7, rows)))));
  }
  world.model.gradients = 0;
  cancelled = true;
  std::vector<float> unused(9);
  single.compute(weights.data(), batch(1, 7, 20'000), cancelled, unused.data());
  CHECK(world.model.gradients == 0);
}
