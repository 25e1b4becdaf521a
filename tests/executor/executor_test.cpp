// The executor: what values come to, whatever the threads. Runs on a small model of its own (executor_fakes.hpp).
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "models/executor/single_gradient.hpp"
#include "tests/executor/executor_checks.hpp"

namespace executor_test {

using namespace straggler;
using namespace straggler::fake;
using namespace straggler::test;

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

TEST_CASE("up to 256 rows are one call of the model, more than 1,024 are equal parts, for any number of threads") {
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

TEST_CASE("a place is lent for a value from elsewhere, which is taken without a copy; what is not given comes back") {
  World world(1);
  LentFloats place = world.executor->lend();
  float* const at = place.get();
  std::fill_n(at, 9, 2.5f);
  const Handle leaf = world.lineage.leaf(Key{5, 6});
  CHECK(world.executor->statistics().values == 1);
  world.executor->give(leaf, std::move(place));
  CHECK(world.executor->value(leaf).data() == at);
  CHECK(world.value(leaf) == std::vector<float>(9, 2.5f));
  world.executor->give(leaf, world.executor->lend());  // has its value already
  CHECK(world.value(leaf) == std::vector<float>(9, 2.5f));
  { const LentFloats dropped = world.executor->lend(); }
  CHECK(world.executor->statistics().values == 1);
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

}  // namespace executor_test
