// Partial all-reduces, on the fake cluster: who brings a gradient, who brings zero, and what becomes of a late gradient.
#include <doctest/doctest.h>

#include "tests/training/fake_cluster.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a partial all-reduce begins when k have a gradient: late workers bring zero and compute on, and drop what is late") {
  const auto scheme = scheme_of("partial_all_reduce", {{"k", "2"}});
  FakeCluster cluster(*scheme, 3, false);
  cluster.finish(1);
  CHECK(cluster.versions().empty());
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 1);
  REQUIRE(cluster.made()[0].size() == 3);
  CHECK(cluster.made()[0][0].samples == 1);
  CHECK(cluster.made()[0][1].samples == 1);
  CHECK(cluster.made()[0][2].samples == 0);
  CHECK(cluster.computation(0).weights()->version == 1);
  CHECK(cluster.computation(2).weights()->version == 0);  // nobody has interrupted it
  cluster.finish(2);
  CHECK(cluster.dropped() == 1);
  CHECK(cluster.versions().size() == 1);
  CHECK(cluster.computation(2).weights()->version == 1);
  cluster.finish(2);
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 2);
  CHECK(cluster.made()[1][0].samples == 1);
  CHECK(cluster.made()[1][1].samples == 0);
  CHECK(cluster.made()[1][2].samples == 1);
}

TEST_CASE("with late: next a late gradient counts in the update in which it is done") {
  const auto scheme = scheme_of("partial_all_reduce", {{"k", "2"}, {"late", "next"}});
  FakeCluster cluster(*scheme, 3, false);
  cluster.finish(1);
  cluster.finish(0);
  cluster.finish(2);
  CHECK(cluster.dropped() == 0);
  CHECK(!cluster.computes(2));  // it waits for another one
  cluster.finish(1);
  REQUIRE(cluster.versions().size() == 2);
  REQUIRE(cluster.made()[1].size() == 3);
  CHECK(cluster.made()[1][0].samples == 0);
  CHECK(cluster.made()[1][2].samples == 1);
  CHECK(cluster.made()[1][2].read_version == 0);
}

TEST_CASE("a window after the k-th lets others in, and a round in which all have a gradient does not wait for it") {
  const auto scheme = scheme_of("partial_all_reduce", {{"k", "1"}, {"grace", "1s"}});
  FakeCluster cluster(*scheme, 2, false);
  cluster.finish(0);
  CHECK(cluster.versions().empty());
  cluster.finish(1);
  REQUIRE(cluster.versions().size() == 1);
  CHECK(cluster.made()[0][1].samples == 1);
  cluster.finish(1);
  cluster.ring(1);
  cluster.ring(0);
  REQUIRE(cluster.versions().size() == 2);
  CHECK(cluster.made()[1][0].samples == 0);
}
