// Runs of one process that share data sets must not share what differs.
#include <doctest/doctest.h>

#include "scenarios/experiment/data_cache.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("runs with and without augmentation do not get each other's data set") {
  const std::vector<std::string> base = {"training.batch.per_worker=10", "workload.model={kind: softmax}"};
  const std::string plain = "workload.data={kind: synthetic_images, samples: 100, test_samples: 20, height: 8, width: 8}";
  const std::string flipped =
      "workload.data={kind: synthetic_images, samples: 100, test_samples: 20, height: 8, width: 8, augment: {flip: true}}";
  DataCache data;
  RunOptions shared;
  shared.data = &data;
  for (const std::string& which : {plain, flipped, plain}) {
    CAPTURE(which);
    std::vector<std::string> sets = base;
    sets.push_back(which);
    CHECK(run(cluster(2), sets, shared).weights == run(cluster(2), sets).weights);
  }
}

TEST_CASE("data that is generated from the seed is another with each seed") {
  DataCache data;
  RunOptions shared;
  shared.data = &data;
  for (const char* seed : {"seed=1", "seed=2", "seed=1"}) {
    CAPTURE(seed);
    CHECK(run(cluster(2), {seed}, shared).weights == run(cluster(2), {seed}).weights);
  }
}
