// The example of docs/add-a-scheme.md.
#include <doctest/doctest.h>

#include "tests/training/fake_cluster.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("K-batch asynchronous SGD: k gradients from any workers make an update, and their workers continue at once") {
  const auto scheme = scheme_of("k_batch_async", {{"k", "3"}});
  FakeCluster cluster(*scheme, 2, true);
  cluster.finish(1);
  CHECK(cluster.computes(1));  // it was answered with the initial weights
  cluster.finish(1);
  CHECK(cluster.versions().empty());
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 1);
  CHECK(workers_of(cluster.made()[0]) == std::vector<Rank>{0, 1, 1});
  cluster.finish(0);  // taken at version 1
  cluster.finish(1);  // taken at version 0
  cluster.finish(0);
  REQUIRE(cluster.made().size() == 2);
  CHECK(cluster.made()[1][0].read_version == 1);
  CHECK(cluster.made()[1][2].read_version == 0);
}
