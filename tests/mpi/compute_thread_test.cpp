// A rank's gradients: the same bits on its own thread and on the one beside it.
#include "validation/mpi/compute_thread.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "tests/executor/executor_fakes.hpp"

using namespace straggler;
using namespace straggler::fake;

TEST_CASE("a gradient has the same bits here and on the computing thread, which tells of its own") {
  World world(1);
  const std::vector<float> weights = world.value(world.lineage.initial());
  SingleGradient single(world.model, world.data, world.partition, world.naive, 3);
  std::atomic<int> told{0};
  ComputeThread thread(single, false, [&told] { ++told; });
  const auto job_of = [&] {
    const std::shared_ptr<const float> at(weights.data(), [](const float*) {});
    return std::make_shared<ComputeThread::Job>(at, batch(1, 7, 300), LentFloats(new float[9], [](float* back) { delete[] back; }));
  };
  const std::vector<float> expected = world.value(world.lineage.gradient(world.lineage.initial(), batch(1, 7, 300)));
  const auto floats_of = [](const ComputeThread::Job& job) { return std::vector<float>(job.gradient.get(), job.gradient.get() + 9); };

  const auto here = job_of(), beside = job_of(), between = job_of();
  REQUIRE(thread.compute_here(*here));
  CHECK(here->done);
  CHECK(floats_of(*here) == expected);
  CHECK(told == 0);
  thread.start(beside);
  if (!thread.compute_here(*between)) CHECK_FALSE(between->done);  // nothing was done while the other one was computed
  while (!beside->done) thread.wait(*beside, 1'000'000);
  CHECK(floats_of(*beside) == expected);
  if (!between->done) REQUIRE(thread.compute_here(*between));
  CHECK(floats_of(*between) == expected);
  while (told == 0) thread.wait(*beside, 1'000'000);
  CHECK(told == 1);
}
