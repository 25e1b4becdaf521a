// Schemes that step on the first gradients, on the fake cluster: who is interrupted, dropped, answered, or goes on.
#include <doctest/doctest.h>

#include "tests/training/fake_cluster.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("K-sync SGD: the new weights interrupt workers that have not finished, and they draw their next batch") {
  const auto scheme = scheme_of("k_sync", {{"k", "2"}});
  FakeCluster cluster(*scheme, 3, true);
  cluster.finish(2);
  CHECK(!cluster.computes(2));  // it waits for the update
  CHECK(cluster.versions().empty());
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 1);
  CHECK(workers_of(cluster.made()[0]) == std::vector<Rank>{0, 2});
  for (Rank worker = 0; worker < 3; ++worker) {
    CHECK(cluster.computes(worker));
    CHECK(cluster.node(worker).drawn() == 2);  // worker 1 too: its first batch is discarded
  }
  cluster.finish(1);
  cluster.finish(2);
  REQUIRE(cluster.made().size() == 2);
  for (const Contribution& made : cluster.made()[1]) CHECK(made.read_version == 1);
  CHECK(cluster.made()[1][0].worker == 1);
  CHECK(cluster.dropped() == 0);
}

TEST_CASE("K-batch-sync SGD: workers compute on at one version until k gradients have arrived from any workers") {
  const auto scheme = scheme_of("k_batch_sync", {{"k", "3"}});
  FakeCluster cluster(*scheme, 3, true);
  cluster.finish(1);
  CHECK(cluster.computes(1));
  cluster.finish(1);
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 1);
  CHECK(workers_of(cluster.made()[0]) == std::vector<Rank>{0, 1, 1});
  CHECK(cluster.node(2).drawn() == 2);  // interrupted
  // Workers 0 and 1 began again when they had sent, and were interrupted at once.
  CHECK(cluster.node(0).drawn() == 3);
  CHECK(cluster.node(1).drawn() == 4);
  cluster.finish(2);
  cluster.finish(2);
  cluster.finish(2);
  REQUIRE(cluster.made().size() == 2);
  for (const Contribution& made : cluster.made()[1]) CHECK(made.read_version == 1);
}

TEST_CASE("Rennala SGD: a stale gradient is dropped, and its worker starts on the current weights") {
  const auto scheme = scheme_of("rennala", {{"batch", "2"}});
  FakeCluster cluster(*scheme, 2, true);
  cluster.finish(0);
  CHECK(cluster.computes(0));  // answered with the initial weights
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 1);
  CHECK(workers_of(cluster.made()[0]) == std::vector<Rank>{0, 0});
  CHECK(cluster.node(1).drawn() == 1);  // nobody interrupts it
  cluster.finish(1);
  CHECK(cluster.dropped() == 1);
  cluster.finish(1);
  cluster.finish(0);
  REQUIRE(cluster.made().size() == 2);
  CHECK(workers_of(cluster.made()[1]) == std::vector<Rank>{0, 1});
  for (const Contribution& made : cluster.made()[1]) CHECK(made.read_version == 1);
}

TEST_CASE("K-async SGD: gradients of k distinct workers, of any versions, make an update, and the others continue") {
  const auto scheme = scheme_of("k_async", {{"k", "2"}});
  FakeCluster cluster(*scheme, 3, true);
  cluster.finish(0);
  CHECK(!cluster.computes(0));  // it waits for the update, so that it is in it once
  cluster.finish(1);
  REQUIRE(cluster.versions().size() == 1);
  CHECK(cluster.computes(0));
  CHECK(cluster.node(2).drawn() == 1);  // it goes on
  cluster.finish(2);
  cluster.finish(1);
  REQUIRE(cluster.made().size() == 2);
  CHECK(workers_of(cluster.made()[1]) == std::vector<Rank>{1, 2});
  CHECK(cluster.made()[1][0].read_version == 1);
  CHECK(cluster.made()[1][1].read_version == 0);
  CHECK(cluster.dropped() == 0);
}

TEST_CASE("n-softsync of p workers: floor(p / n) gradients from any workers make an update, and no worker waits") {
  const auto scheme = scheme_of("softsync", {{"n", "2"}});
  FakeCluster cluster(*scheme, 5, true);
  cluster.finish(3);
  CHECK(cluster.computes(3));
  CHECK(cluster.versions().empty());
  cluster.finish(3);
  REQUIRE(cluster.versions().size() == 1);
  CHECK(workers_of(cluster.made()[0]) == std::vector<Rank>{3, 3});
  cluster.finish(0);
  cluster.finish(3);
  REQUIRE(cluster.made().size() == 2);
  CHECK(cluster.made()[1][0].read_version == 0);
  CHECK(cluster.made()[1][1].read_version == 1);
}

TEST_CASE("asynchronous SGD with max_delay: a gradient that old is dropped, and answered with the current weights") {
  const auto scheme = scheme_of("asgd", {{"max_delay", "2"}});
  FakeCluster cluster(*scheme, 2, true);
  cluster.finish(0);
  cluster.finish(0);
  cluster.finish(1);  // two updates old
  CHECK(cluster.versions().size() == 2);
  CHECK(cluster.dropped() == 1);
  cluster.finish(0);
  cluster.finish(1);  // taken at version 2, one update old
  REQUIRE(cluster.versions().size() == 4);
  CHECK(cluster.made()[3][0].read_version == 2);
}

TEST_CASE("Downpour: sums are pushed every few steps, and one that is not pushed yet survives a fetch") {
  const auto scheme = scheme_of("downpour", {{"push_every", "3"}, {"fetch_every", "2"}});
  FakeCluster cluster(*scheme, 2, true);
  cluster.finish(0);
  CHECK(cluster.sent() == 0);
  cluster.finish(0);
  CHECK(cluster.sent() == 2);  // a request and its answer
  CHECK(cluster.versions().empty());
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 1);  // three gradients, two of them from before the fetch
  REQUIRE(cluster.made()[0].size() == 1);
  CHECK(cluster.made()[0][0].steps == 3);
  CHECK(cluster.made()[0][0].samples == 3);
  CHECK(cluster.sent() == 3);
  CHECK(cluster.computes(0));  // nobody answers a push
  cluster.finish(0);
  CHECK(cluster.sent() == 5);
  // A push and a fetch at once: the answer holds the push.
  cluster.finish(0);
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 2);
  cluster.finish(0);
  cluster.finish(0);
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 3);
  CHECK(cluster.made()[2][0].read_version == 2);
}

TEST_CASE("DropCompute: a worker that has finished waits for the others' timeout, and completed micro-batches are averaged") {
  const auto scheme = scheme_of("drop_compute", {{"micro_batches", "4"}, {"timeout", "1s"}});
  FakeCluster cluster(*scheme, 2, false, 8);
  for (int micro = 0; micro < 4; ++micro) cluster.finish(0);
  CHECK(!cluster.computes(0));
  cluster.finish(1);
  CHECK(cluster.versions().empty());
  cluster.ring(1);
  REQUIRE(cluster.versions().size() == 1);
  REQUIRE(cluster.made()[0].size() == 2);
  CHECK(cluster.made()[0][0].samples == 8);
  CHECK(cluster.made()[0][0].steps == 4);
  CHECK(cluster.made()[0][1].samples == 2);
  CHECK(cluster.computes(0));
  CHECK(cluster.computes(1));
  // Nothing done is a contribution too, without samples.
  cluster.ring(0);
  for (int micro = 0; micro < 4; ++micro) cluster.finish(1);
  REQUIRE(cluster.made().size() == 2);
  CHECK(cluster.made()[1][0].samples == 0);
  CHECK(cluster.made()[1][1].samples == 8);
}
