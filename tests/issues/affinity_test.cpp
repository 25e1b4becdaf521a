// Under `taskset -c 0` run.json named one thread, and two ran.
#include <doctest/doctest.h>
#include <sched.h>

#include "models/data/blocks.hpp"
#include "scenarios/results/run_info.hpp"

using namespace straggler;

TEST_CASE("threads and run.json both follow the affinity") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  for (int processor = 0; CPU_COUNT(&one) == 0; ++processor)
    if (CPU_ISSET(processor, &before)) CPU_SET(processor, &one);
  CHECK(thread_count(0) == this_machine().cores);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(thread_count(0) == 1);
  CHECK(this_machine().cores == 1);
  CHECK(thread_count(3) == 3);
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}
