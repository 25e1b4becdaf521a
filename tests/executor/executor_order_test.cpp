// The executor: what is evaluated when, and how long values and their buffers live.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/executor/executor_checks.hpp"
#include "tests/support/sanitized.hpp"

namespace executor_order_test {

using namespace straggler;
using namespace straggler::fake;
using namespace straggler::test;

TEST_CASE("independent nodes run at the same time") {
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

TEST_CASE("threads share a batch of samples with many places, for which one thread needs two vectors") {
  constexpr std::size_t places = 64, windows = 500;  // four windows are a part
  Symbols text(windows + places);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::int32_t>(i * i % 3);
  std::vector<std::uint32_t> starts(windows);
  std::iota(starts.begin(), starts.end(), 0u);
  std::vector<float> values[2];
  for (const unsigned threads : {1u, 4u}) {
    CAPTURE(threads);
    World world(threads, places, windows);
    world.executor.reset();
    world.data.info.symbols = 3;
    world.data.train.labels.clear();
    world.data.train.inputs = SampleInputs(std::make_shared<const Symbols>(text), starts, places);
    ExecutorOptions options;
    options.threads = threads;
    options.seed = 3;
    world.executor = std::make_unique<Executor>(world.lineage, world.model, world.data, world.partition, world.naive, options);
    world.model.meeting = threads;  // the first calls wait until one of each thread has begun
    std::vector<Batch> batches;
    for (std::uint32_t worker = 0; worker < 16; ++worker) batches.push_back(batch(worker, 0, 4));
    values[threads / 4] = world.value(world.lineage.mean_gradient(world.lineage.initial(), batches));
    CHECK(world.model.met);
    CHECK(world.model.gradients == 16);
    if (threads == 1) CHECK(world.executor->statistics().peak_value_bytes == 3 * 320);  // 65 floats; with the weights
  }
  CHECK(values[0] == values[1]);
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
    const unsigned updates = threads == 1 && !sanitized ? 1'000'000 : 100'000;
    CAPTURE(threads);
    World world(threads, 3);
    Handle weights = world.lineage.initial();
    const Handle gradient = world.lineage.gradient(weights, batch(0, 0, 4));
    for (unsigned i = 0; i < updates; ++i) weights = world.step(weights, gradient, 1e-9 * (1 + i % 3));
    CHECK(world.lineage.pending() == updates + 2);
    world.executor->force(weights);
    CHECK(world.lineage.pending() == 0);
    CHECK(world.lineage.live() == 2);
    // The initial weights, the gradient, and one update in the memory of the one before; nothing else is ever live.
    const ExecutorStatistics statistics = world.executor->statistics();
    CHECK(statistics.values == 2);
    CHECK(statistics.peak_value_bytes == 2 * 64);
    CHECK(statistics.nodes == updates + 2);
  }
}

TEST_CASE("a chain whose values were not read is dropped without being evaluated") {
  World world(2, 3);
  Handle weights = world.lineage.initial();
  for (std::uint32_t i = 0; i < 100'000; ++i) weights = world.step(weights, world.lineage.gradient(weights, batch(i, 0, 1)));
  weights = Handle();
  CHECK(world.lineage.live() == 0);
  CHECK(world.lineage.pending() == 0);
  CHECK(world.executor->statistics().nodes == 0);
}

TEST_CASE("buffers are reused in place only when nothing else holds the input") {
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

TEST_CASE("handles may outlive the executor") {
  World world(1);
  const Handle initial = world.lineage.initial();
  Handle step = world.step(initial, world.lineage.gradient(initial, batch(0, 0, 4)));
  world.executor->force(step);
  world.executor.reset();
  step = Handle();
  CHECK(world.lineage.live() == 1);
}

}  // namespace executor_order_test
