// Schemes on the fake cluster: what the server makes of who finishes when, without scenario, time or data.
#include <doctest/doctest.h>

#include "tests/training/fake_cluster.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a mixture names each vector once, and one vector in all chunks is that vector") {
  Lineage lineage(Math::lazy, Key{1, 3});
  const TrainingPlan plan;
  const Algebra algebra(lineage, plan);
  const Handle a = lineage.initial(), b = lineage.gradient(a, {0, 0, 1}), c = lineage.gradient(a, {1, 0, 1});
  const Handle mixed = algebra.mixture({a, a, b, a, c, c});
  REQUIRE(mixed.node());
  const std::vector<LineageNode*> inputs = {c.node(), a.node(), b.node()};  // the last chunk's first
  CHECK(mixed.node()->inputs == inputs);
  const std::vector<double> which = {1, 1, 2, 1, 0, 0};
  CHECK(mixed.node()->formula.scalars == which);
  CHECK(algebra.mixture({b, b, b}).key() == b.key());
  CHECK(algebra.mixture({a, b}).key() != algebra.mixture({a, a, b}).key());
}

TEST_CASE("backup workers: a late gradient is dropped, and its worker starts on the current weights") {
  const auto scheme = scheme_of("backup_workers", {{"backups", "1"}});
  FakeCluster cluster(*scheme, 3, true);
  cluster.finish(2);
  CHECK(!cluster.computes(2));  // it waits for the update
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 1);
  CHECK(workers_of(cluster.made()[0]) == std::vector<Rank>{0, 2});
  CHECK(cluster.dropped() == 0);
  cluster.finish(1);
  CHECK(cluster.dropped() == 1);
  cluster.finish(1);
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 2);
  CHECK(workers_of(cluster.made()[1]) == std::vector<Rank>{0, 1});
}

TEST_CASE("SSP: who is more than the slack ahead waits for the slowest") {
  const auto scheme = scheme_of("ssp", {{"slack", "1"}});
  FakeCluster cluster(*scheme, 2, true);
  cluster.finish(0);
  CHECK(cluster.computes(0));  // clocks 1 and 0
  cluster.finish(0);
  CHECK(!cluster.computes(0));  // 2 and 0
  cluster.finish(1);
  CHECK(cluster.computes(0));
  CHECK(cluster.versions().size() == 3);
}

TEST_CASE("an operation in flight: the worker computes while its all-reduce waits for the others") {
  const auto scheme = scheme_of("diloco", {{"steps", "2"}, {"delay", "1"}});
  const SchemeEntry& entry = Registry<SchemeEntry>::instance().at("diloco");
  CHECK(entry.outer_optimizer(variant_of(entry, {{"steps", "2"}}).parameters)->kind == "sgd");
  FakeCluster cluster(*scheme, 2, false);
  cluster.finish(0);
  cluster.finish(0);           // two steps: what changed leaves
  CHECK(cluster.computes(0));  // and it computes on
  cluster.finish(0);
  CHECK(!cluster.computes(0));  // a step later it needs the mean
  cluster.finish(1);
  cluster.finish(1);
  CHECK(cluster.computes(0));
  CHECK(cluster.versions().size() == 1);
}
