// The executor where evaluation fails: what is refused, and that it goes on afterwards.
#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/executor/executor_checks.hpp"

namespace executor_errors_test {

using namespace straggler;
using namespace straggler::fake;
using namespace straggler::test;

TEST_CASE("the model's exceptions reach the caller, and the executor continues") {
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

TEST_CASE("an impossible evaluation is refused before any is computed") {
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
  CHECK(has(unknown, "fake_unheard_of"));
  CHECK(has(unknown, "fake_descend"));
  CHECK(world.executor->statistics().nodes == 0);
  world.executor->force(world.step(initial, world.lineage.gradient(initial, batch(0, 0, 4))));
  CHECK(world.executor->statistics().nodes == 3);
}

}  // namespace executor_errors_test
